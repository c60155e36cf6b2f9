import { type FormEvent, useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { KeyDrop, type ServiceAccountKey } from '../projects/key-drop.tsx';
import type { Destination } from './storage-form.tsx';

/** New credentials for the same place; they are checked at once. */
export function CredentialsPanel({ destination }: { destination: Destination }) {
  const [accessKeyId, setAccessKeyId] = useState('');
  const [secretAccessKey, setSecretAccessKey] = useState('');
  const [key, setKey] = useState<ServiceAccountKey | null>(null);
  const { question } = useLeaveQuestion({ accessKeyId, secretAccessKey, key });
  const save = useAct('updateStorageDestination', {
    onDone: () => {
      setAccessKeyId('');
      setSecretAccessKey('');
      setKey(null);
    },
  });
  const isGoogle = destination.type === 'gcs';
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const credentials = isGoogle
      ? { serviceAccountKey: { ...(key as ServiceAccountKey) } }
      : { accessKeyId, secretAccessKey };
    save.mutate({ params: { storageDestinationId: destination.id }, body: { credentials } });
  };
  return (
    <Panel title={t.storage.newCredentials} aside={t.storage.credentialsHint}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {isGoogle ? (
          <KeyDrop value={key} onChange={setKey} />
        ) : (
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label={t.storage.accessKeyId}>
              <TextInput mono required value={accessKeyId} onChange={(event) => setAccessKeyId(event.target.value)} />
            </Field>
            <Field label={t.storage.secretAccessKey}>
              <TextInput
                mono
                required
                type="password"
                autoComplete="new-password"
                value={secretAccessKey}
                onChange={(event) => setSecretAccessKey(event.target.value)}
              />
            </Field>
          </div>
        )}
        <FormProblem error={save.error} />
        <div>
          <Button type="submit" busy={save.isPending} disabled={isGoogle && !key}>
            {t.common.save}
          </Button>
        </div>
      </form>
      {question}
    </Panel>
  );
}
