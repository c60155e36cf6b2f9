import { defaultScopes, type Scope, scopeDescriptions, scopes } from '@holdfast/contract';
import { KeyRound } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Id } from '../../components/copy.tsx';
import { Checkbox, Field, TextInput } from '../../components/field.tsx';
import { useLeaveQuestion, useSecretQuestion } from '../../components/leave-question.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { FormProblem, Problem, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { t } from '../../texts/index.ts';

export function ServiceAccount() {
  const account = useRead('getServiceAccount', {});
  const [key, setKey] = useState<string | null>();
  // Kept here, because the form disappears before the call of a new key has answered.
  const create = useAct('createServiceAccount', { onDone: (made) => setKey(made.apiKey) });
  const rotate = useAct('rotateServiceAccount', { onDone: (answer) => setKey(answer.apiKey) });
  const question = useSecretQuestion(create.isPending || rotate.isPending);
  const isMissing = account.error?.code === 'SERVICE_ACCOUNT_NOT_FOUND';
  return (
    <>
      {account.error && !isMissing && <Problem error={account.error} onRetry={() => void account.refetch()} />}
      {account.isLoading && <Skeleton rows={3} />}
      {isMissing && <Create create={create} />}
      {account.data && !isMissing && <Existing account={account.data} rotate={rotate} />}
      {question}
      {key !== undefined && (
        <SecretOnce
          title={t.serviceAccount.keyTitle}
          text={t.serviceAccount.keyText}
          secret={key}
          lost={t.serviceAccount.keyLost}
          onClose={() => setKey(undefined)}
        />
      )}
    </>
  );
}

function Create({ create }: { create: ReturnType<typeof useAct<'createServiceAccount'>> }) {
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<readonly Scope[]>(defaultScopes);
  const { question } = useLeaveQuestion({ name, chosen: scopes.filter((scope) => chosen.includes(scope)) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate({ body: { name, permissions: [...chosen] } });
  };
  return (
    <Panel title={t.serviceAccount.title}>
      <form onSubmit={submit} className="flex max-w-xl flex-col gap-4">
        <p className="text-table text-ink2">{t.serviceAccount.text}</p>
        <Field label={t.serviceAccount.name}>
          <TextInput required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1 text-table font-medium">{t.serviceAccount.permissions}</legend>
          {scopes.map((scope) => (
            <Checkbox
              key={scope}
              label={<code className="font-mono">{scope}</code>}
              hint={scopeDescriptions[scope]}
              checked={chosen.includes(scope)}
              onChange={(event) =>
                setChosen(event.target.checked ? [...chosen, scope] : chosen.filter((other) => other !== scope))
              }
            />
          ))}
        </fieldset>
        <FormProblem error={create.error} />
        <div>
          <Button kind="primary" icon={KeyRound} type="submit" busy={create.isPending} disabled={chosen.length === 0}>
            {t.serviceAccount.create}
          </Button>
        </div>
      </form>
      {question}
    </Panel>
  );
}

type Account = NonNullable<ReturnType<typeof useRead<'getServiceAccount'>>['data']>;

function Existing({
  account,
  rotate,
}: {
  account: Account;
  rotate: ReturnType<typeof useAct<'rotateServiceAccount'>>;
}) {
  const [isAsking, setAsking] = useState(false);
  const remove = useAct('deleteServiceAccount', { onDone: () => setAsking(false) });
  return (
    <Panel title={account.name}>
      <div className="flex flex-col gap-4">
        <Facts
          rows={[
            [
              t.serviceAccount.permissions,
              <code key="p" className="font-mono text-meta">
                {account.permissions.join(', ')}
              </code>,
            ],
            [
              t.serviceAccount.lastUsed,
              account.lastUsedAt ? <Time key="u" at={account.lastUsedAt} as="age" /> : t.common.never,
            ],
            [t.serviceAccount.created, <Time key="c" at={account.createdAt} as="age" />],
            [t.settings.statistics.id, <Id key="i" id={account.id} />],
          ]}
        />
        <p className="text-table text-ink2">{t.serviceAccount.rotateText}</p>
        <FormProblem error={rotate.error} />
        <div className="flex gap-2">
          <Button icon={KeyRound} busy={rotate.isPending} onClick={() => rotate.mutate({})}>
            {t.serviceAccount.rotate}
          </Button>
          <Button onClick={() => setAsking(true)}>{t.serviceAccount.delete}</Button>
        </div>
      </div>
      {isAsking && (
        <Confirm
          title={t.serviceAccount.deleteTitle}
          action={t.serviceAccount.delete}
          danger
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setAsking(false)}
          onConfirm={() => remove.mutate({})}
        >
          <p>{t.serviceAccount.deleteText}</p>
        </Confirm>
      )}
    </Panel>
  );
}
