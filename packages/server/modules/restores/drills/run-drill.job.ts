import type { Transaction } from '../../../platform/database/database.ts';
import { secondMs } from '../../../platform/durations.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { loadBackup } from '../../backups/index.ts';
import { toJobError } from '../../job-error.ts';
import { admissionOf, runJob, Superseded, stallAfterMs } from '../../jobs/index.ts';
import type { RestoresContext } from '../context.ts';
import type { StoredDrillReport } from '../tables.ts';
import { admitDrills } from './admission.ts';
import { type DrillRow, drillStore } from './drill-store.ts';
import { isProven } from './proof.ts';
import { proveBackup } from './prove-backup.ts';

type Job = RunningJob<{ organizationId: string; drillId: string; admission?: number | undefined }>;
type Change = Parameters<typeof drillStore.update>[3];

const saveEveryMs = secondMs;

/**
 * Runs one drill from its beginning. What an earlier attempt restored into a scratch database is gone with its worker.
 * In a named target it is still there, is not written again, and is compared like the rest.
 */
export async function runDrill(context: RestoresContext, job: Job): Promise<void> {
  const { platform } = context;
  const { organizationId, drillId } = job.data;
  const row = await change(context, job, { status: 'running' });
  if (!row) return;
  await runJob({
    platform,
    job,
    stallAfterMs,
    record: { drillId },
    work: async (signal, watch) => {
      const save = async (fields: Change) => {
        if (!(await change(context, job, fields)))
          throw new Superseded('the drill has ended or moved to another worker');
      };
      let savedMs = performance.now();
      const report = await proveBackup(context, row, {
        signal,
        noteEmpty: (targetFoundEmptyAt) => save({ targetFoundEmptyAt }),
        show: async (percent, documentsDone, bytesDone) => {
          watch.beat();
          if (performance.now() - savedMs < saveEveryMs) return;
          savedMs = performance.now();
          await save({ percent, documentsDone, bytesDone });
        },
      });
      await complete(context, job, row, report);
    },
    countFailure: () =>
      platform.database.tenant(organizationId, (transaction) =>
        drillStore.countFailure(transaction, organizationId, drillId),
      ),
    fail: (reason) => fail(context, job, row, reason),
  });
  await admitDrills(platform);
}

/** Undefined, and nothing is changed, once the drill has ended or was admitted again. */
async function change(context: RestoresContext, { data }: Job, fields: Change): Promise<DrillRow | undefined> {
  const { organizationId, drillId, admission = 0 } = data;
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await drillStore.findLocked(transaction, organizationId, drillId);
    if (!row || (row.status !== 'pending' && row.status !== 'running') || admissionOf(row) !== admission)
      return undefined;
    await drillStore.update(transaction, organizationId, drillId, fields);
    return row;
  });
}

async function fail(context: RestoresContext, { data }: Job, row: DrillRow, reason: unknown): Promise<void> {
  const { organizationId, id: drillId } = row;
  await context.platform.database.tenant(organizationId, async (transaction) => {
    const locked = await drillStore.findLocked(transaction, organizationId, drillId);
    if (locked?.status !== 'running' || admissionOf(locked) !== (data.admission ?? 0)) return;
    const fields = { status: 'failed' as const, error: toJobError(reason), completedAt: context.platform.clock.now() };
    await drillStore.update(transaction, organizationId, drillId, fields);
    // Other errors say nothing about the backup: the target refuses or is away, the storage cannot be read, the scratch
    // database has no memory.
    if (fields.error.code === 'INTEGRITY_ERROR') await reportUnproven(context, transaction, row);
    await context.audit.noteSystem(transaction, organizationId, {
      action: 'drill.failed',
      resource: { type: 'drill', id: drillId },
      details: {
        projectId: row.projectId,
        backupId: row.backupId,
        code: fields.error.code,
        reason: fields.error.message,
      },
    });
  });
}

async function reportUnproven(context: RestoresContext, transaction: Transaction, row: DrillRow): Promise<void> {
  const loaded = await loadBackup(context, transaction, row.organizationId, row.backupId);
  if (loaded && !loaded.row.deletedAt) await context.onUnproven(transaction, loaded, 'drill_failed');
}

async function complete(context: RestoresContext, job: Job, row: DrillRow, report: StoredDrillReport): Promise<void> {
  const { organizationId, id: drillId, backupId } = row;
  const completedAt = context.platform.clock.now();
  const { mismatches: _sampleAgain, ...signed } = report;
  const signedReport = await context.sign({
    drillId,
    backupId,
    organizationId,
    projectId: row.projectId,
    targetProjectId: row.targetProjectId,
    passed: isProven(report),
    completedAt: completedAt.toISOString(),
    ...signed,
  });
  await context.platform.database.tenant(organizationId, async (transaction) => {
    const locked = await drillStore.findLocked(transaction, organizationId, drillId);
    if (locked?.status !== 'running' || admissionOf(locked) !== (job.data.admission ?? 0)) return;
    const done = { documentsDone: report.documentsRestored, bytesDone: report.bytes, percent: 100 };
    const fields = { status: 'completed' as const, ...done, report, signedReport, completedAt };
    await drillStore.update(transaction, organizationId, drillId, fields);
    if (!isProven(report)) await reportUnproven(context, transaction, row);
    await context.audit.noteSystem(transaction, organizationId, {
      action: 'drill.completed',
      resource: { type: 'drill', id: drillId },
      details: {
        projectId: row.projectId,
        backupId,
        passed: isProven(report),
        matched: report.documentsMatched,
        expected: report.documentsExpected,
        differences: report.differences.count,
      },
    });
  });
}
