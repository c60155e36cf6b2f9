import type { Backup, PitrWindow } from '@holdfast/contract';
import type { LineBand, LinePoint } from '../../components/line/marks.tsx';

export interface Reach {
  readonly isReachable: boolean;
  readonly inGap: boolean;
  /** The nearest moments that can be reached, when this one cannot. */
  readonly nearest: readonly number[];
}

/** Whether a moment can be reached; if not, the nearest that can. */
export function reachOf(pitr: PitrWindow, atMs: number): Reach {
  const [fromMs, toMs] = [Date.parse(pitr.coveredFrom ?? ''), Date.parse(pitr.coveredTo ?? '')];
  if (Number.isNaN(fromMs) || Number.isNaN(toMs)) return { isReachable: false, inGap: false, nearest: [] };
  const gap = pitr.gaps.find((one) => atMs > Date.parse(one.from) && atMs < Date.parse(one.to));
  if (gap) return { isReachable: false, inGap: true, nearest: [Date.parse(gap.from), Date.parse(gap.to)] };
  if (atMs < fromMs) return { isReachable: false, inGap: false, nearest: [fromMs] };
  return atMs > toMs
    ? { isReachable: false, inGap: false, nearest: [toMs] }
    : { isReachable: true, inGap: false, nearest: [] };
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
