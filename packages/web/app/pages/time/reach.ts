import { type Backup, minuteMs, type PitrWindow } from '@holdfast/contract';
import type { LineBand, LinePoint } from '../../components/line/marks.tsx';

/** A capture further behind no longer counts as current. */
const stillMs = 10 * minuteMs;

/** Where a stopped capture ended; undefined while it follows. */
export function standsStillAt(
  { enabled, coveredTo }: Pick<PitrWindow, 'enabled' | 'coveredTo'>,
  nowMs: number,
): string | undefined {
  if (coveredTo === null || (enabled && nowMs - Date.parse(coveredTo) < stillMs)) return undefined;
  return coveredTo;
}

export function bandsOf({ coveredFrom, coveredTo, gaps }: PitrWindow): LineBand[] {
  if (!coveredFrom || !coveredTo) return [];
  return [
    { kind: 'any', fromMs: Date.parse(coveredFrom), toMs: Date.parse(coveredTo) },
    ...gaps.map((gap) => ({ kind: 'gap' as const, fromMs: Date.parse(gap.from), toMs: Date.parse(gap.to) })),
  ];
}

export function pointsOf(backups: readonly Backup[]): LinePoint[] {
  return backups
    .filter(({ status, trigger }) => status === 'completed' && trigger !== 'pre_restore')
    .map(({ id, snapshotTime, createdAt, type }) => ({
      id,
      atMs: Date.parse(snapshotTime ?? createdAt),
      kind: type === 'incremental' ? 'increment' : type,
    }));
}
