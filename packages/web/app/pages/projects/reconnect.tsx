import { Link2 } from 'lucide-react';
import { useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { FormProblem } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useIsHere } from '../../url.ts';
import type { Project } from './connect-form.tsx';
import { KeyDrop, type ServiceAccountKey } from './key-drop.tsx';

function useReconnect(onDone?: () => void) {
  const isHere = useIsHere();
  return useAct('reconnectProject', {
    onDone: ({ authorizationUrl }) => {
      onDone?.();
      if (authorizationUrl && isHere()) window.location.assign(authorizationUrl);
    },
  });
}

/** Opens the consent page, or checks the connection again and shows the result. */
export function ReconnectButton({ project, word }: { project: Project; word: string }) {
  const reconnect = useReconnect();
  return (
    <>
      <Button
        kind="primary"
        icon={Link2}
        busy={reconnect.isPending}
        onClick={() => reconnect.mutate({ params: { projectId: project.id } })}
      >
        {word}
      </Button>
      <Outcome of={reconnect} />
    </>
  );
}

/** Replaces the service-account key. */
export function ReconnectByKey({ project }: { project: Project }) {
  const [key, setKey] = useState<ServiceAccountKey | null>(null);
  const { question, keep } = useLeaveQuestion(key);
  const reconnect = useReconnect(() => {
    keep(null);
    setKey(null);
  });
  const faults = fieldErrors(reconnect.error, ['key']);
  return (
    <div className="flex flex-col items-start gap-3">
      {question}
      <div className="w-full max-w-md">
        <KeyDrop value={key} onChange={setKey} error={faults.key} />
      </div>
      <Button
        busy={reconnect.isPending}
        disabled={!key}
        onClick={() => key && reconnect.mutate({ params: { projectId: project.id }, body: { key: { ...key } } })}
      >
        {t.projects.useKey}
      </Button>
      {Object.keys(faults).length === 0 && <Outcome of={reconnect} />}
      {reconnect.data?.connection.status === 'connected' && (
        <p role="status" className="text-ink2 text-table">
          {t.projects.keyUsed}
        </p>
      )}
    </div>
  );
}

function Outcome({ of: { data, error } }: { of: ReturnType<typeof useReconnect> }) {
  if (error) return <FormProblem error={error} />;
  if (!data || data.authorizationUrl || data.connection.status === 'connected') return null;
  return (
    <p role="alert" className="text-fail text-table">
      {t.projects.still[data.connection.status]}
      {data.connection.lastCheckedAt && (
        <>
          , <Time at={data.connection.lastCheckedAt} as="age" />
        </>
      )}
    </p>
  );
}
