import type { Restore } from '@holdfast/contract';
import { LoaderCircle } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FormProblem, Problem } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { useGo, usePaths } from '../../url.ts';
import { Irreversible, isRunning } from './shared.tsx';

/** Shows what an undo would do, by a dry run; then starts it. */
export function UndoDialog({ restore, onClose }: { restore: Restore; onClose: () => void }) {
  const paths = usePaths();
  const go = useGo();
  const params = { restoreJobId: restore.id };
  const [dryRunId, setDryRunId] = useState<string>();
  const dryRun = useAct('undoRestore', { onDone: (made) => setDryRunId(made.id) });
  const { mutate } = dryRun;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it is opened
  useEffect(() => mutate({ params, body: { dryRun: true } }), []);
  const read = useRead(
    'getRestore',
    { params: { restoreJobId: dryRunId ?? '' } },
    { enabled: dryRunId !== undefined, everyMs: 500 },
  );
  const job = read.data;
  const undo = useAct('undoRestore', {
    onDone: (made) => {
      onClose();
      go(paths.restore(made.id));
    },
  });
  const problem = dryRun.error ?? (job && !isRunning(job) ? job.error : null);
  const preview = job && !isRunning(job) ? job.preview : null;
  const conflicts = job?.conflicts ?? 0;
  return (
    <Dialog
      title={restore.undoOf ? t.restore.redoAsk : t.restore.undoAsk}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t.common.cancel}</Button>
          <Button kind="primary" busy={undo.isPending} disabled={!preview} onClick={() => undo.mutate({ params })}>
            {restore.undoOf ? t.restore.redoIt : t.restore.undoIt}
          </Button>
        </>
      }
    >
      {problem && <Problem error={problem} />}
      {!problem && !preview && (
        <p role="status" className="flex items-center gap-2 text-ink2">
          <LoaderCircle size={16} aria-hidden className="turning text-move" /> {t.newRestore.previewing}
        </p>
      )}
      {preview && (
        <div className="flex flex-col gap-2" data-undo-preview="">
          <ul className="list-disc pl-5">
            {t.restore.undoWould(preview, conflicts).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
          <p className="text-ink2">{t.restore.undoConflicts}</p>
        </div>
      )}
      {preview && restore.irreversibleReasons.length > 0 && (
        <section>
          <h3 className="font-medium">{t.newRestore.irreversible}</h3>
          <Irreversible of={restore} />
        </section>
      )}
      <FormProblem error={undo.error ?? (preview ? null : read.error)} />
    </Dialog>
  );
}
