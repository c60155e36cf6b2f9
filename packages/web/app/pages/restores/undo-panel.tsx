import type { Restore } from '@holdfast/contract';
import { Undo2 } from 'lucide-react';
import { useState } from 'react';
import { isUnserved, useAct, useRead } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Panel } from '../../components/panel.tsx';
import { formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { useGo, usePaths } from '../../url.ts';
import { isRunning } from './shared.tsx';

/** The way back, in sight from the moment it exists. */
export function UndoPanel({ restore }: { restore: Restore }) {
  const paths = usePaths();
  const go = useGo();
  const canUndo = useCan('member');
  const [isAsking, setAsking] = useState(false);
  const safety = useRead(
    'getBackup',
    { params: { backupId: restore.safetyBackupId ?? '' } },
    { enabled: restore.safetyBackupId !== null, everyMs: false },
  );
  const undo = useAct('undoRestore', { onDone: (made) => go(paths.restore(made.id)) });
  const isOver = !isRunning(restore);
  if (restore.safetyBackupId === null && (!isOver || restore.undoOf)) return null;
  if (restore.safetyBackupId === null && restore.undoOf === undefined) return null;
  const saved = safety.data?.documentCount;
  return (
    <Panel tone="held">
      <h2 className="flex items-center gap-2 text-body font-semibold">
        <Undo2 size={17} aria-hidden className="text-held" /> {t.restore.undoTitle}
      </h2>
      <p className="mt-1 text-table text-ink2">
        {saved === undefined || saved === null ? t.restore.undoTextPlain : t.restore.undoText(formatCount(saved))}
      </p>
      <div className="mt-3 flex flex-wrap items-center gap-4">
        {isOver && canUndo && !restore.undoneBy && restore.status !== 'pending' && (
          <Button onClick={() => setAsking(true)}>{t.restore.undo}</Button>
        )}
        {restore.safetyBackupId && (
          <TextLink to={paths.browse(restore.safetyBackupId)}>{t.restore.lookInside}</TextLink>
        )}
      </div>
      {isAsking && (
        <Confirm
          title={t.restore.undoAsk}
          action={t.restore.undoIt}
          busy={undo.isPending}
          error={isUnserved(undo.error) ? null : undo.error}
          onClose={() => setAsking(false)}
          onConfirm={() => undo.mutate({ params: { restoreJobId: restore.id } })}
        >
          <p>{t.restore.undoAskText}</p>
          {isUnserved(undo.error) && <p role="alert">{t.restore.undoUnavailable}</p>}
        </Confirm>
      )}
    </Panel>
  );
}
