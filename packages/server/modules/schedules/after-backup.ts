import type { Transaction } from '../../platform/database/database.ts';
import { type BackupInEvent, type BackupRow, backupStore, requestVerification } from '../backups/index.ts';
import type { SchedulesContext } from './context.ts';
import { detectAnomaly } from './retention/anomalies.ts';
import { retentionCheckStore } from './retention/retention-check-store.ts';
import { dueAfterDays } from './retention/rules.ts';
import { safetyBackupDays } from './retention/verdicts.ts';
import { type RunRow, runStore } from './run-store.ts';
import { type ScheduleRow, scheduleStore } from './schedule-store.ts';
import type { RunStatus } from './tables.ts';

/** Updates run, expiry and retention when a backup ends, in the transaction that ends it. */
export async function afterBackup(
  context: SchedulesContext,
  transaction: Transaction,
  facts: BackupInEvent,
): Promise<void> {
  const { row } = facts;
  const { organizationId } = row;
  const schedule = row.scheduleId ? await scheduleStore.find(transaction, organizationId, row.scheduleId) : undefined;
  const run = schedule && (await runStore.findByBackup(transaction, organizationId, row.id));
  if (run) await endRun(transaction, run, row);
  if (row.status !== 'completed') return;
  await setTerm(transaction, row, schedule);
  // What retention merges is older than it looks.
  if (row.trigger !== 'pre_restore' && row.standsFor === null && row.imported === null)
    await detectAnomaly(context, transaction, facts);
  if (schedule && run?.number) await prove(context, transaction, row.id, schedule, run.number);
  // A merged backup must be found whole before the backup that it replaces may be removed.
  if (row.standsFor) await requestVerification(context.backups, transaction, organizationId, row.id);
  await retentionCheckStore.request(transaction, organizationId, row.projectId, context.backups.platform.clock.now());
}

async function endRun(transaction: Transaction, run: RunRow, row: BackupRow): Promise<void> {
  const status: RunStatus = row.status === 'completed' ? 'completed' : 'failed';
  const reason = status === 'completed' ? null : (row.error?.message ?? 'The backup was cancelled.').slice(0, 2000);
  await runStore.update(transaction, row.organizationId, run.id, { status, reason, beginsBefore: null });
  await scheduleStore.updateLastRun(transaction, row.organizationId, run.scheduleId, {
    runId: run.id,
    dueAt: run.dueAt.toISOString(),
    status,
    backupId: row.id,
  });
}

/** Sets the time when the backup expires, if that depends only on days. */
async function setTerm(
  transaction: Transaction,
  row: BackupRow,
  schedule: Pick<ScheduleRow, 'retentionDays'> | undefined,
): Promise<void> {
  const safetyDays = row.trigger === 'pre_restore' ? safetyBackupDays : null;
  const days = schedule?.retentionDays ?? row.retentionDays ?? safetyDays;
  if (days === null || !row.completedAt) return;
  const expiresAt = dueAfterDays(row.retainedSince ?? row.completedAt, days);
  await backupStore.update(transaction, row.organizationId, row.id, { expiresAt });
}

async function prove(
  context: SchedulesContext,
  transaction: Transaction,
  backupId: string,
  { organizationId, verifyEvery, drillEvery }: ScheduleRow,
  number: number,
): Promise<void> {
  if (verifyEvery && number % verifyEvery === 0)
    await requestVerification(context.backups, transaction, organizationId, backupId);
  if (drillEvery && number % drillEvery === 0) await context.startDrill(transaction, organizationId, backupId);
}
