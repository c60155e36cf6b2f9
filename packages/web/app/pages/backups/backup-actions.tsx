import type { Backup } from '@holdfast/contract';
import { Lock, RotateCcw, ShieldCheck, Trash2, Undo2, Unlock } from 'lucide-react';
import { useAct } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import type { MenuItem } from '../../components/menu.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { isOver } from './shared.tsx';

/** What can be done with one backup, from its page and from its row; to delete it is asked for where the question lasts. */
export function useBackupActions(backup: Backup, onDelete: () => void) {
  const canRun = useCan('member');
  const canRemove = useCan('admin');
  const params = { backupId: backup.id };
  const verify = useAct('verifyBackup');
  const hold = useAct('holdBackup');
  const release = useAct('releaseBackup');
  const isWhole = backup.status === 'completed';
  const items: Record<'verify' | 'hold' | 'delete', MenuItem | false> = {
    verify: isWhole &&
      canRun && { label: t.backups.verify, icon: ShieldCheck, onSelect: () => verify.mutate({ params }) },
    hold:
      isWhole &&
      canRemove &&
      (backup.legalHold
        ? { label: t.backups.release, icon: Unlock, onSelect: () => release.mutate({ params }) }
        : { label: t.backups.hold, icon: Lock, onSelect: () => hold.mutate({ params }) }),
    // A backup under legal hold must be released first.
    delete: isOver(backup) &&
      canRemove &&
      !backup.legalHold && { label: t.backups.delete, icon: Trash2, danger: true, onSelect: onDelete },
  };
  const refused = [verify, hold, release].find(({ error }) => error !== null);
  return { items, error: refused?.error ?? null, forget: () => refused?.reset() };
}

/** Links from a backup: its restore, and for a safety backup the undo of the restore that made it. */
export function useWaysOn(backup: Backup, undoTo: string | undefined): (MenuItem | false)[] {
  const paths = usePaths();
  const canRun = useCan('member');
  if (backup.status !== 'completed' || !canRun) return [];
  return [
    undoTo !== undefined && { label: t.backups.undoIt, icon: Undo2, to: undoTo },
    { label: t.backups.restore, icon: RotateCcw, to: paths.newRestore({ backupId: backup.id }) },
  ];
}
