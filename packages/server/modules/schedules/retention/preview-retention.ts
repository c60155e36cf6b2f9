import type { ItemOf, Operations } from '@holdfast/contract';
import type { SchedulesContext } from '../context.ts';
import { scheduleStore } from '../schedule-store.ts';
import { type LoadedState, loadState } from './project-state.ts';
import { removalTimes } from './removal-times.ts';
import { byNewest, type RuleName } from './rules.ts';
import { decideRetention, type Protection, type Verdict } from './verdicts.ts';

export type PreviewEntry = ItemOf<Operations['previewRetention']>;

/** For each backup of the schedule, newest first, what keeps it, or that it is removed. Nothing is changed. */
export async function previewRetention(
  context: SchedulesContext,
  organizationId: string,
  scheduleId: string,
): Promise<PreviewEntry[]> {
  return context.backups.platform.database.tenant(organizationId, async (transaction) => {
    const schedule = await scheduleStore.get(transaction, organizationId, scheduleId);
    const state = await loadState(context, transaction, organizationId, schedule.projectId, { lock: false });
    const verdicts = decideRetention(state);
    const times = removalTimes(state, verdicts);
    return state.backups
      .filter((backup) => backup.scheduleId === scheduleId)
      .toSorted(byNewest)
      .map(({ id }) => present(state, verdicts.get(id) as Verdict, times.get(id) ?? null));
  });
}

function present(state: LoadedState, verdict: Verdict, removedAt: Date | null): PreviewEntry {
  const candidate = state.candidates.get(verdict.id)!;
  const days = state.rulesOf.get(candidate.scheduleId ?? '')?.days ?? null;
  return {
    backupId: verdict.id,
    completedAt: candidate.completedAt.toISOString(),
    countsFrom: candidate.countsFrom.toISOString(),
    type: candidate.type,
    keptBy: verdict.keptBy.map((reason) => ({
      rule: contractNames[reason],
      detail: detailOf(reason, verdict, candidate.lockedUntil, days),
    })),
    removedAt: removedAt?.toISOString() ?? null,
  };
}

const contractNames: Record<RuleName | Protection, PreviewEntry['keptBy'][number]['rule']> = {
  forever: 'retention',
  days: 'retention',
  manual: 'retention',
  last: 'last',
  daily: 'daily',
  weekly: 'weekly',
  monthly: 'monthly',
  yearly: 'yearly',
  needed_by_kept: 'dependency',
  legal_hold: 'legal_hold',
  object_lock: 'object_lock',
  in_use: 'in_use',
  point_in_time: 'point_in_time',
  newest_of_project: 'newest_good',
  safety_backup: 'safety',
  retention_frozen: 'frozen',
};

function detailOf(
  reason: RuleName | Protection,
  verdict: Verdict,
  lockedUntil: Date | null,
  days: number | null,
): string | null {
  if (reason === 'forever') return 'The schedule sets no retention.';
  if (reason === 'days') return days === null ? null : `Younger than ${days} days.`;
  if (reason === 'needed_by_kept') return `${verdict.neededBy} cannot be read without it.`;
  if (reason === 'object_lock') return `Locked by its storage until ${lockedUntil?.toISOString()}.`;
  if (reason === 'in_use') return 'A job reads, copies or verifies it.';
  if (reason === 'point_in_time') return 'Moments that point-in-time recovery captured are reached from it.';
  if (reason === 'newest_of_project') return 'The newest good backup of what it covers.';
  if (reason === 'retention_frozen') return 'Retention is frozen until somebody has looked at an anomaly.';
  return null;
}
