import { LifeBuoy } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { useTakeKit } from '../../api/take-kit.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { FormProblem, Problem, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { t } from '../../texts/index.ts';

const words = t.settings.encryption;

export function EncryptionKey() {
  const key = useRead('getEncryptionKey', {});
  const canEdit = useCan('admin');
  if (key.error && !key.data) return <Problem error={key.error} onRetry={() => void key.refetch()} />;
  if (!key.data) return <Skeleton rows={3} />;
  const isOwn = key.data.source === 'customer';
  const text = isOwn ? (key.data.type === 'key' ? words.customerKey : words.customerPassphrase) : words.service;
  return (
    <div className="grid items-start gap-5 lg:grid-cols-2">
      <Panel title={words.title}>
        <div className="flex flex-col gap-4">
          <p className="text-table">{text}</p>
          <Facts
            rows={[
              [words.version, String(key.data.version)],
              [words.changed, <Time key="c" at={key.data.updatedAt} as="age" />],
            ]}
          />
          {canEdit && (
            <>
              <p className="text-table text-ink2">{isOwn ? words.rotateOwnText : words.rotateText}</p>
              <div className="flex flex-wrap items-center gap-2">
                <Rotate isOwn={isOwn} />
                {isOwn && <Withdraw />}
              </div>
            </>
          )}
        </div>
      </Panel>
      <div className="flex flex-col gap-5">
        <RecoveryKit />
        {canEdit && <OwnKey />}
      </div>
    </div>
  );
}

/** The kit must be taken again after every change of the key; an older one does not open newer backups. */
function RecoveryKit() {
  const organization = useRead('getOrganization', {});
  const isOwner = useCan('owner');
  const take = useTakeKit();
  if (!organization.data) return null;
  const takenAt = organization.data.recoveryKitTakenAt;
  return (
    <Panel title={words.kit}>
      <div className="flex flex-col gap-4">
        <p className="text-table">{words.kitText}</p>
        <Facts
          rows={[
            [words.kitTaken, takenAt ? <Time key="t" at={takenAt} as="age" /> : <b key="t">{words.kitMissing}</b>],
          ]}
        />
        {isOwner ? (
          <>
            <FormProblem error={take.error} />
            <div>
              <Button icon={LifeBuoy} busy={take.isPending} onClick={() => take.mutate({})}>
                {words.kitTake}
              </Button>
            </div>
          </>
        ) : (
          <p className="text-ink2 text-table">{words.kitOwnerOnly}</p>
        )}
      </div>
    </Panel>
  );
}

/** A new key makes earlier kits outdated; only the owner can take the next one. */
function Rotate({ isOwn }: { isOwn: boolean }) {
  const isOwner = useCan('owner');
  const [isAsking, setAsking] = useState(false);
  const rotate = useAct('rotateEncryptionKey', { onDone: () => setAsking(false) });
  return (
    <>
      <Button onClick={() => setAsking(true)}>{words.rotate}</Button>
      {rotate.data && <p role="status">{words.rotated(rotate.data.rewrapped)}</p>}
      {isAsking && (
        <Confirm
          title={words.rotateTitle}
          action={words.rotate}
          busy={rotate.isPending}
          error={rotate.error}
          onClose={() => setAsking(false)}
          onConfirm={() => rotate.mutate({})}
        >
          <p>{isOwn ? words.rotateOwnText : words.rotateText}</p>
          {!isOwn && (
            <p>
              <b className="font-medium text-ink">{words.rotateOutdates}</b>{' '}
              {isOwner ? words.rotateTakeKit : words.rotateTellOwner}
            </p>
          )}
        </Confirm>
      )}
    </>
  );
}

function Withdraw() {
  const [isAsking, setAsking] = useState(false);
  const remove = useAct('removeEncryptionKey', { onDone: () => setAsking(false) });
  return (
    <>
      <Button onClick={() => setAsking(true)}>{words.withdraw}</Button>
      {isAsking && (
        <Confirm
          title={words.withdrawTitle}
          action={words.withdraw}
          danger
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setAsking(false)}
          onConfirm={() => remove.mutate({})}
        >
          <p>{words.withdrawText}</p>
        </Confirm>
      )}
    </>
  );
}

function OwnKey() {
  const [passphrase, setPassphrase] = useState('');
  const [again, setAgain] = useState('');
  const [key, setKey] = useState('');
  const { question } = useLeaveQuestion({ passphrase, again, key });
  const set = useAct('setEncryptionKey', {
    onDone: () => {
      setPassphrase('');
      setAgain('');
      setKey('');
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set.mutate({ body: key ? { key } : { passphrase } });
  };
  return (
    <Panel title={words.useOwn}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label={words.passphrase} hint={words.passphraseHint}>
          <TextInput
            type="password"
            autoComplete="new-password"
            minLength={12}
            value={passphrase}
            disabled={key !== ''}
            onChange={(event) => setPassphrase(event.target.value)}
          />
        </Field>
        {passphrase !== '' && (
          <Field label={words.again} error={again !== '' && again !== passphrase ? words.notTheSame : undefined}>
            <TextInput
              type="password"
              autoComplete="new-password"
              value={again}
              onChange={(event) => setAgain(event.target.value)}
            />
          </Field>
        )}
        <Field label={words.key}>
          <TextInput
            mono
            type="password"
            autoComplete="new-password"
            value={key}
            disabled={passphrase !== ''}
            onChange={(event) => setKey(event.target.value)}
          />
        </Field>
        <FormProblem error={set.error} />
        <div>
          <Button
            type="submit"
            busy={set.isPending}
            disabled={key === '' && (passphrase === '' || again !== passphrase)}
          >
            {words.set}
          </Button>
        </div>
      </form>
      {question}
    </Panel>
  );
}
