import type { Backup, Restore } from '@holdfast/contract';
import { Undo2 } from 'lucide-react';
import { useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Panel } from '../../components/panel.tsx';
import { formatBytes } from '../../format/numbers.ts';
import { formatDateTime } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';
import { wroteNothing } from './phase-words.ts';
import { Irreversible, isRunning } from './shared.tsx';
import { UndoDialog } from './undo-dialog.tsx';

/** The panel that offers the undo. */
export function UndoPanel({ restore }: { restore: Restore }) {
  const paths = usePaths();
  const canUndo = useCan('member');
  const zone = useZone();
  const [search, setSearch] = useSearch();
  const { safetyBackupId, undoOf, undoneBy } = restore;
  // Other pages link directly to the dialog.
  const isAsking = search.undo === '1' && canUndo && !undoneBy;
  const ask = () => void setSearch({ undo: '1' });
  const close = () => void setSearch({ undo: undefined }, { replace: true });
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
  if (isOver && !undoneBy && safety.error?.code === 'BACKUP_NOT_FOUND')
    return (
      <Panel tone="risk" title={t.restore.undoGone}>
        <p className="text-table text-ink2">{t.restore.undoGoneText}</p>
      </Panel>
    );
  const saved = safety.data?.documentCount ?? null;
  return (
    <Panel tone="held">
      <h2 className="flex items-center gap-2 text-body font-semibold">
        <Undo2 size={17} aria-hidden className="text-held" />
        {titleOf(restore, canUndo)}
      </h2>
      <p className="mt-1 text-table text-ink2">
        {safetyBackupId === null ? t.restore.undoUnsaved : keptWords(safety.data, saved, zone)}
      </p>
      <div className="mt-3 flex flex-wrap items-center gap-4">
        {isOver && canUndo && !undoneBy && <Button onClick={ask}>{t.restore.undo}</Button>}
        {!isOver && canUndo && !undoOf && <StopAndUndo restore={restore} onStopped={ask} />}
        {undoneBy && <TextLink to={paths.restore(undoneBy)}>{t.restore.toUndo}</TextLink>}
        {safetyBackupId && saved !== 0 && !safety.error && (
          <TextLink to={paths.browse(safetyBackupId)}>{t.restore.lookInside}</TextLink>
        )}
      </div>
      {isAsking && isOver && <UndoDialog restore={restore} onClose={close} />}
    </Panel>
  );
}

function titleOf({ undoneBy, undoOf }: Restore, canUndo: boolean): string {
  if (undoneBy) return t.restore.undone;
  if (!canUndo) return t.restore.undoByOthers;
  return undoOf ? t.restore.redoTitle : t.restore.undoTitle;
}

/** What the safety backup holds, since when and where, as far as loaded. */
function keptWords(safety: Backup | undefined, saved: number | null, zone: string): string {
  if (!safety?.snapshotTime || !safety.storageDestination || !saved) return t.restore.undoText(saved);
  return t.restore.undoKept({
    at: formatDateTime(safety.snapshotTime, zone),
    place: safety.storageDestination.name,
    saved,
    size: formatBytes(safety.compressedSize ?? 0),
  });
}

/** Stops first: what an undo would take back is known once nothing more is written. */
function StopAndUndo({ restore, onStopped }: { restore: Restore; onStopped: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const cancel = useAct('cancelRestore', {
    onDone: () => {
      setAsking(false);
      onStopped();
    },
  });
  return (
    <>
      <Button onClick={() => setAsking(true)}>{t.restore.stopAndUndo}</Button>
      {isAsking && (
        <Confirm
          title={t.restore.stopAndUndoTitle}
          action={t.restore.stop}
          cancel={t.restore.letRun}
          busy={cancel.isPending}
          error={cancel.error}
          onClose={() => setAsking(false)}
          onConfirm={() => cancel.mutate({ params: { restoreJobId: restore.id } })}
        >
          <p>{t.restore.stopAndUndoText}</p>
        </Confirm>
      )}
    </>
  );
}
