import type { Backup, PitrWindow } from '@holdfast/contract';
import type { LineBand, LinePoint } from '../../components/line/marks.tsx';

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
