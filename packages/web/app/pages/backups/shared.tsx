import { type Backup, couldNotRead, minuteMs } from '@holdfast/contract';
import { BadgeCheck, Check, Lock, X } from 'lucide-react';
import { JobState } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { t } from '../../texts/index.ts';

export const isSafety = (backup: Backup) => backup.trigger === 'pre_restore';
export const isOver = (backup: Backup) => backup.status !== 'running' && backup.status !== 'pending';

/** The snapshot time; before it is known, the start or creation time. */
export const momentOf = (backup: Backup) => backup.snapshotTime ?? backup.startedAt ?? backup.createdAt;

/** Merges and imports hold data that is older than the backup itself. */
export function madeLater(backup: Backup): { word: string; at: string } | undefined {
  const { type, importedFrom, snapshotTime, createdAt } = backup;
  const isOlder = snapshotTime !== null && Date.parse(createdAt) - Date.parse(snapshotTime) > minuteMs;
  if (!isOlder || (type !== 'synthetic' && importedFrom === null)) return undefined;
  return { word: importedFrom === null ? t.backups.merged : t.backups.imported, at: createdAt };
}

/** Its last verification found damage. */
export const isDamaged = ({ verification }: Backup) => verification?.status === 'failed' && !couldNotRead(verification);

export function typeName(backup: Backup): string {
  return isSafety(backup) ? t.backups.types.safety : t.backups.types[backup.type];
}

export function BackupState({ backup }: { backup: Backup }) {
  const word = backup.status === 'running' ? { word: t.backups.running(backup.progress.percent) } : {};
  return <JobState status={backup.status} {...word} />;
}

/** Whether it was verified or drilled. */
export function Proof({ backup, isDrilled }: { backup: Backup; isDrilled?: boolean }) {
  if (backup.status !== 'completed') return null;
  if (backup.verification?.status === 'running') return <span className="text-move">{t.backups.verifying}</span>;
  if (couldNotRead(backup.verification)) return <span className="text-risk">{t.backups.notRead}</span>;
  if (backup.verification?.status === 'failed')
    return (
      <span className="inline-flex items-center gap-1.5 align-middle text-fail">
        <X size={15} aria-hidden /> {t.backups.verifyFailed}
      </span>
    );
  if (isDrilled)
    return (
      <span className="inline-flex items-center gap-1.5 align-middle text-ink2">
        <BadgeCheck size={15} aria-hidden className="text-held" /> {t.backups.drilled}
      </span>
    );
  if (!backup.verifiedAt) return <span className="text-ink3">{t.backups.notYet}</span>;
  return (
    <span className="inline-flex items-center gap-1.5 align-middle text-ink2">
      <Check size={15} aria-hidden className="text-held" /> {t.backups.verified}
    </span>
  );
}

interface KeptProps {
  backup: Backup;
  /** What the retention preview of its schedule says. */
  until?: { removedAt: string | null; isNeeded: boolean } | undefined;
}

export function Kept({ backup, until }: KeptProps) {
  if (backup.legalHold)
    return (
      <span className="inline-flex items-center gap-1.5 align-middle font-medium">
        <Lock size={14} aria-hidden /> {t.backups.legalHold}
      </span>
    );
  const endsAt = backup.expiresAt ?? until?.removedAt;
  if (endsAt) return <Time at={endsAt} as="day" />;
  if (until?.isNeeded)
    return (
      <span className="text-ink2 underline decoration-dotted underline-offset-4" title={t.backups.whileNeededHint}>
        {t.backups.whileNeeded}
      </span>
    );
  return <span className="text-ink2">{backup.scheduleId ? t.backups.bySchedule : t.backups.untilDeleted}</span>;
}
