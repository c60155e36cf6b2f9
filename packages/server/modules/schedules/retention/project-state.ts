import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs, later } from '../../../platform/durations.ts';
import { type RetentionCandidate, retentionStore } from '../../backups/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { SchedulesContext } from '../context.ts';
import { scheduleStore } from '../schedule-store.ts';
import type { RetentionRules } from './rules.ts';
import { type ProjectState, safetyBackupDays } from './verdicts.ts';

export interface LoadedState extends ProjectState {
  readonly candidates: ReadonlyMap<string, RetentionCandidate>;
}

/**
 * Everything that retention needs to decide about a project's backups. With `lock` it cannot change before the
 * transaction ends.
 */
export async function loadState(
  context: SchedulesContext,
  transaction: Transaction,
  organizationId: string,
  projectId: string,
  options: { lock: boolean },
): Promise<LoadedState> {
  const candidates = await retentionStore.candidates(transaction, organizationId, projectId, options);
  const read = await context.backupsRead(transaction, organizationId, projectId);
  const bases = await context.basesNeeded(transaction, organizationId, projectId);
  const now = context.backups.platform.clock.now();
  const undoable = later(now, -safetyBackupDays * dayMs);
  const restoredAt = await context.safetyBackupsSince(transaction, organizationId, projectId, undoable);
  const project = await projectStore.findKept(transaction, organizationId, projectId);
  const rulesOf = new Map<string, RetentionRules>();
  for (const row of await scheduleStore.ofProject(transaction, organizationId, projectId))
    rulesOf.set(row.id, { days: row.retentionDays, policy: row.retentionPolicy, timezone: row.timezone });
  return {
    now,
    backups: candidates.map((candidate) => ({
      ...candidate,
      // A restore may take longer than its safety backup is kept, so the days for an undo begin at its end.
      countsFrom: restoredAt.get(candidate.id) ?? candidate.countsFrom,
      inUse: candidate.isBusy || read.has(candidate.id),
      isBase: bases.has(candidate.id),
    })),
    candidates: new Map(candidates.map((candidate) => [candidate.id, candidate])),
    rulesOf,
    frozen: project !== undefined && project.retentionFrozen !== null,
  };
}
