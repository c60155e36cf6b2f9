import type { Restore } from '@holdfast/contract';
import { Undo2 } from 'lucide-react';
import { useState } from 'react';
import { useRead } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { wroteNothing } from './phase-words.ts';
import { Irreversible, isRunning } from './shared.tsx';
import { UndoDialog } from './undo-dialog.tsx';

/** The way back, in sight from the moment it exists. */
export function UndoPanel({ restore }: { restore: Restore }) {
  const paths = usePaths();
  const canUndo = useCan('member');
  const [isAsking, setAsking] = useState(false);
  const { safetyBackupId, undoOf, undoneBy } = restore;
  const safety = useRead(
    'getBackup',
    { params: { backupId: safetyBackupId ?? '' } },
    { enabled: safetyBackupId !== null, everyMs: false },
  );
  const isOver = !isRunning(restore);
  if (safetyBackupId === null && (!isOver || undoOf)) return null;
  if (safetyBackupId === null && restore.irreversibleReasons.length > 0)
    return (
      <Panel tone="risk" title={t.newRestore.irreversible}>
        <Irreversible of={restore} />
      </Panel>
    );
  if (isOver && wroteNothing(restore))
    return (
      <Panel title={t.restore.nothingWritten}>
        <p className="text-table text-ink2">{t.restore.nothingWrittenText}</p>
      </Panel>
    );
  const saved = safety.data?.documentCount ?? null;
  return (
    <Panel tone="held">
      <h2 className="flex items-center gap-2 text-body font-semibold">
        <Undo2 size={17} aria-hidden className="text-held" />
        {undoneBy ? t.restore.undone : undoOf ? t.restore.redoTitle : t.restore.undoTitle}
      </h2>
      <p className="mt-1 text-table text-ink2">
        {safetyBackupId === null ? t.restore.undoUnsaved : t.restore.undoText(saved)}
      </p>
      <div className="mt-3 flex flex-wrap items-center gap-4">
        {isOver && canUndo && !undoneBy && <Button onClick={() => setAsking(true)}>{t.restore.undo}</Button>}
        {undoneBy && <TextLink to={paths.restore(undoneBy)}>{t.restore.toUndo}</TextLink>}
        {safetyBackupId && saved !== 0 && <TextLink to={paths.browse(safetyBackupId)}>{t.restore.lookInside}</TextLink>}
      </div>
      {isAsking && <UndoDialog restore={restore} onClose={() => setAsking(false)} />}
    </Panel>
  );
}
