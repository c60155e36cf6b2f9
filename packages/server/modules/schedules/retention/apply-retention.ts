import { requireTimeAgrees } from '../../../platform/clock-agreement.ts';
import type { Transaction } from '../../../platform/database/database.ts';
import { usedAmong } from '../../../platform/database/use-locks.ts';
import { dayMs, hourMs, later, minuteMs } from '../../../platform/durations.ts';
import { forEachByOrganization } from '../../../platform/for-each-by-organization.ts';
import { admitBackups, backupStore, removeRow } from '../../backups/index.ts';
import type { SchedulesContext } from '../context.ts';
import { checkBeforeRemoval } from './check-before-removal.ts';
import { loadState } from './project-state.ts';
import { type RetentionCheck, retentionCheckStore } from './retention-check-store.ts';
import { byNewest } from './rules.ts';
import { decideRetention, type ProjectState, type RetainedBackup, rollUps, type Verdict } from './verdicts.ts';

const projectsPerRun = 50;
/** Removals in one transaction; the rest follows in the next run. */
const removalsMax = 200;

/** Removes what has expired in every project that is due for a check. Can be repeated and interrupted. */
export async function applyRetention(context: SchedulesContext, signal: AbortSignal): Promise<number> {
  const { database, clock, log } = context.backups.platform;
  let removed = 0;
  const due = await database.system((transaction) =>
    retentionCheckStore.listDue(transaction, clock.now(), projectsPerRun),
  );
  // When an organization's storage does not answer, all its projects wait for the next run, and nobody else waits for
  // it.
  const silent = new Set<string>();
  await forEachByOrganization(
    due,
    signal,
    async (check, ownSignal) => {
      if (silent.has(check.organizationId)) return;
      const safety = await checkBeforeRemoval(context, check, ownSignal);
      if (safety === 'unknown') silent.add(check.organizationId);
      if (safety === 'safe') removed += await applyToProject(context, check);
    },
    (error, { projectId }) => log.warn({ err: error, projectId }, 'retention failed; tried again later'),
  );
  if (due.length > 0) await admitBackups(context.backups.platform);
  return removed;
}

/**
 * Decides and marks in one transaction that locks every backup of the project: meanwhile nobody can put one under hold,
 * restore it, or build on it. Jobs remove objects and rows later.
 */
async function applyToProject(context: SchedulesContext, check: RetentionCheck): Promise<number> {
  const { database, clock } = context.backups.platform;
  const { organizationId, projectId } = check;
  return database.tenant(organizationId, async (transaction) => {
    const version = await retentionCheckStore.findDue(transaction, check, clock.now());
    if (version === undefined) return 0;
    const organization = await context.backups.organizations.active(transaction, organizationId);
    const now = clock.now();
    if (!organization) {
      await retentionCheckStore.postpone(transaction, organizationId, projectId, later(now, hourMs));
      return 0;
    }
    // Others lock backups first and then request a check, so this locks in the same order and does not wait.
    const loaded = await loadState(context, transaction, organizationId, projectId, { lock: true });
    await requireTimeAgrees(loaded.now, clock, transaction);
    if (!(await retentionCheckStore.lock(transaction, check, version))) return 0;
    const { state, verdicts, going, next: first } = await whatGoes(transaction, loaded);
    // A backup that is due itself replaces nothing.
    const staying = state.backups.filter((backup) => !going.includes(backup));
    for (const backup of first)
      await expire(context, transaction, organizationId, backup.id, replacementOf(backup, staying)?.id);
    for (const backup of rollUps(state, verdicts)) await mergeInPlace(context, transaction, organizationId, backup);
    const next = going.length > removalsMax ? now : nextCheck(state, verdicts);
    await retentionCheckStore.postpone(transaction, organizationId, projectId, next);
    return first.length;
  });
}

/** Everything that is due, except what is being read and what that builds on. */
async function whatGoes(transaction: Transaction, loaded: ProjectState) {
  // Newest first: an increment is removed before its base.
  const dueIn = (state: ProjectState, verdicts: ReadonlyMap<string, Verdict>) =>
    state.backups.filter(({ id }) => verdicts.get(id)!.keptBy.length === 0).toSorted(byNewest);
  const due = dueIn(loaded, decideRetention(loaded));
  const asked = due.slice(0, removalsMax).map(({ id }) => id);
  const used = new Set(await usedAmong(transaction, asked));
  const backups = loaded.backups.map((backup) => (used.has(backup.id) ? { ...backup, inUse: true } : backup));
  const state: ProjectState = { ...loaded, backups };
  const verdicts = decideRetention(state);
  const going = dueIn(state, verdicts);
  return { state, verdicts, going, next: going.filter(({ id }) => asked.includes(id)) };
}

/** The merged backup that replaces it; or, for a damaged merged backup, the one it was merged from. */
function replacementOf(backup: RetainedBackup, staying: readonly RetainedBackup[]): RetainedBackup | undefined {
  const originalId = backup.verification === 'failed' ? backup.standsFor : null;
  return staying.find(({ id, standsFor }) => standsFor === backup.id || id === originalId);
}

async function expire(
  context: SchedulesContext,
  transaction: Transaction,
  organizationId: string,
  backupId: string,
  replacedBy: string | undefined,
): Promise<void> {
  const row = await backupStore.get(transaction, organizationId, backupId);
  await removeRow(context.backups, transaction, row, replacedBy ?? null);
  await context.backups.audit.noteSystem(transaction, organizationId, {
    action: 'backup.expired',
    resource: { type: 'backup', id: backupId },
    details: { projectId: row.projectId, scheduleId: row.scheduleId, completedAt: row.completedAt?.toISOString() },
  });
}

/**
 * Requests a full backup of the same moment as the increment, made from storage alone. The increment is removed once
 * that one was found whole.
 */
async function mergeInPlace(
  context: SchedulesContext,
  transaction: Transaction,
  organizationId: string,
  backup: RetainedBackup,
): Promise<void> {
  const { ids, clock } = context.backups.platform;
  const row = await backupStore.get(transaction, organizationId, backup.id);
  const copies = await backupStore.copies(transaction, organizationId, [backup.id]);
  const destinationIds = copies.filter(({ status }) => status === 'completed').map((copy) => copy.storageDestinationId);
  if (destinationIds.length === 0) return;
  const now = clock.now();
  const id = ids.next('bkp');
  const merged = {
    id,
    organizationId,
    projectId: row.projectId,
    scheduleId: row.scheduleId,
    type: 'synthetic' as const,
    status: 'pending' as const,
    trigger: row.trigger,
    standsFor: row.id,
    retainedSince: backup.countsFrom,
    retentionDays: row.retentionDays ?? daysGiven(backup),
    collections: row.collections,
    excludeCollections: row.excludeCollections,
    includeSubcollections: row.includeSubcollections,
    includeAuthUsers: row.includeAuthUsers,
    storageDestinationId: destinationIds[0] as string,
    phase: 'Waiting',
    createdAt: now,
    updatedAt: now,
  };
  await backupStore.insertAll(transaction, [{ row: merged, destinationIds }]);
  await context.backups.audit.noteSystem(transaction, organizationId, {
    action: 'backup.created',
    resource: { type: 'backup', id },
    details: { projectId: row.projectId, type: 'synthetic', standsFor: row.id },
  });
}

/** Its schedule may be gone, and only the day on which it expires be left. */
function daysGiven({ countsFrom, expiresAt }: RetainedBackup): number | null {
  return expiresAt && Math.max(1, Math.round((expiresAt.getTime() - countsFrom.getTime()) / dayMs));
}

/** When time alone can change a decision. Everything else that can change it requests a check itself. */
function nextCheck(state: ProjectState, verdicts: ReadonlyMap<string, Verdict>): Date {
  const soonest = later(state.now, minuteMs).getTime();
  const times = state.backups.flatMap((backup) => {
    const dueAt = verdicts.get(backup.id)!.dueAt;
    return [dueAt, backup.lockedUntil].flatMap((date) => (date && date > state.now ? [date.getTime()] : []));
  });
  // The end of a restore, a copy or a hold requests no check, so these backups are checked every minute or hour.
  const inUse = state.backups.some(({ inUse }) => inUse) ? [soonest] : [];
  const held = state.backups.some(({ legalHold }) => legalHold) ? [later(state.now, hourMs).getTime()] : [];
  return new Date(Math.max(soonest, Math.min(...times, ...inUse, ...held, later(state.now, dayMs).getTime())));
}
