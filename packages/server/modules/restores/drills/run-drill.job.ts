import type { Transaction } from '../../../platform/database/database.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { loadBackup } from '../../backups/index.ts';
import { toJobError } from '../../job-error.ts';
import { admissionOf, runJob, Superseded, stallAfterMs } from '../../jobs/index.ts';
import type { RestoresContext } from '../context.ts';
import type { StoredDrillReport } from '../tables.ts';
import { admitDrills } from './admission.ts';
import { type DrillRow, drillStore } from './drill-store.ts';
import { proveBackup } from './prove-backup.ts';

type Job = RunningJob<{ organizationId: string; drillId: string; admission?: number | undefined }>;
type Change = Parameters<typeof drillStore.update>[3];

/** One drill from its beginning: what an attempt before restored into a scratch database is gone with its worker. */
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
      const report = await proveBackup(context, row, signal, async (percent, documentsDone, bytesDone) => {
        watch.beat();
        if (!(await change(context, job, { percent, documentsDone, bytesDone })))
          throw new Superseded('the drill has ended or moved to another worker');
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

/** Undefined, and nothing changed, once the drill has ended or was let in anew. */
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
    await reportUnproven(context, transaction, row);
  });
}

function isProven(report: StoredDrillReport): boolean {
  return report.documentsMatched === report.documentsExpected && report.sha256Expected === report.sha256Restored;
}

async function reportUnproven(context: RestoresContext, transaction: Transaction, row: DrillRow): Promise<void> {
  const loaded = await loadBackup(context, transaction, row.organizationId, row.backupId);
  if (loaded && !loaded.row.deletedAt) await context.onUnproven(transaction, loaded, 'drill_failed');
}

async function complete(context: RestoresContext, job: Job, row: DrillRow, report: StoredDrillReport): Promise<void> {
  const { organizationId, id: drillId, backupId } = row;
  const completedAt = context.platform.clock.now();
  const signed = { drillId, backupId, organizationId, completedAt: completedAt.toISOString(), ...report };
  const signedReport = await context.sign(signed);
  await context.platform.database.tenant(organizationId, async (transaction) => {
    const locked = await drillStore.findLocked(transaction, organizationId, drillId);
    if (locked?.status !== 'running' || admissionOf(locked) !== (job.data.admission ?? 0)) return;
    const fields = { status: 'completed' as const, percent: 100, report, signedReport, completedAt };
    await drillStore.update(transaction, organizationId, drillId, fields);
    if (!isProven(report)) await reportUnproven(context, transaction, row);
    await context.audit.noteSystem(transaction, organizationId, {
      action: 'drill.completed',
      resource: { type: 'drill', id: drillId },
      details: { backupId, matched: report.documentsMatched, expected: report.documentsExpected },
    });
  });
}
