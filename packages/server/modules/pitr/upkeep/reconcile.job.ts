import { instantFromDate, LogWriter, reconcile, wholeDatabase } from '@holdfast/engine';
import { dayMs } from '../../../platform/durations.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { admitBackups } from '../../backups/index.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { requestBase } from '../enable-pitr.ts';
import { openLog } from '../log-access.ts';
import { openPast } from '../past/open-past.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';

const nightMs = dayMs;

/** Base and log against the database at one instant: equal proves the log; what differs is repaired, recorded and shown. */
export async function runReconciliation(
  context: PitrContext,
  job: RunningJob<{ organizationId: string; projectId: string }>,
): Promise<void> {
  const { platform, sources } = context.backups;
  const { organizationId, projectId } = job.data;
  const found = await platform.database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.find(transaction, organizationId, projectId);
    const project = row && (await projectStore.findKept(transaction, organizationId, projectId));
    return row?.enabled && project ? { row, project } : undefined;
  });
  if (!found) return;
  const { row, project } = found;
  const firestore = await sources.open(project);
  try {
    const at = row.coveredThrough;
    const past = await openPast(context, { organizationId, projectId, at, signal: job.signal, isProof: true });
    try {
      const { source } = firestore;
      const result = await reconcile({ source, view: past.view, at, scope: wholeDatabase, signal: job.signal });
      await settle(context, project, row, at, result);
      const reads = source.usage.documentsRead;
      platform.log.info({ projectId, at, ...result, repair: undefined, reads }, 'a log was compared with its database');
    } finally {
      await past.close();
    }
  } finally {
    await firestore.close();
  }
}

async function settle(
  context: PitrContext,
  project: ProjectRow,
  row: LogRow,
  at: string,
  result: Awaited<ReturnType<typeof reconcile>>,
): Promise<void> {
  const { platform, audit } = context.backups;
  const { organizationId, projectId } = row;
  const now = platform.clock.now();
  const segment = result.repair === null ? null : await writeRepair(context, row, at, result);
  await platform.database.tenant(organizationId, async (transaction) => {
    const current = await pitrStore.lock(transaction, organizationId, projectId);
    if (!current || current.logId !== row.logId) return;
    if (segment) await pitrStore.insertSegment(transaction, current, segment, now);
    await pitrStore.update(transaction, organizationId, projectId, {
      nextSequence: current.nextSequence + (segment ? 1 : 0),
      reconcileDueAt: new Date(now.getTime() + nightMs),
      ...(result.isTooMuch ? {} : { lastReconciledAt: now }),
      updatedAt: now,
    });
    if (result.isTooMuch) await requestBase(context, transaction, project, current);
    if (result.differences > 0) {
      await audit.noteSystem(transaction, organizationId, {
        action: 'pitr.difference_repaired',
        resource: { type: 'project', id: projectId },
        details: { at, differences: result.differences, isTooMuch: result.isTooMuch },
      });
    }
  });
  if (result.isTooMuch) await admitBackups(platform);
}

/** What was missed becomes part of the log, and the time since the last proof is a gap. */
async function writeRepair(
  context: PitrContext,
  row: LogRow,
  at: string,
  { repair, differences }: Awaited<ReturnType<typeof reconcile>>,
) {
  const log = await openLog(context, row);
  try {
    const from = row.lastReconciledAt === null ? row.startedFrom : instantFromDate(row.lastReconciledAt);
    const reason = `A comparison with the database found ${differences} documents that the log had otherwise; they were repaired.`;
    const { store, seal: sealContext } = log;
    const { codec } = context.backups.engine;
    const writer = new LogWriter({ store, codec, context: sealContext, nextSequence: row.nextSequence });
    return await writer.append({
      records: repair,
      coveredFrom: at,
      coveredThrough: at,
      marks: [at],
      position: { collectionIds: [], provedThrough: at, resumeToken: null },
      gap: { from: from < at ? from : row.startedFrom, through: at, reason },
    });
  } finally {
    await log.close();
  }
}
