import { instantFromDate, isEngineError, LogWriter, reconcile, wholeDatabase } from '@holdfast/engine';
import { dayMs, hourMs, minuteMs } from '../../../platform/durations.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { admitBackups, baseStore, warning } from '../../backups/index.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { laterOf } from '../coverage.ts';
import { requestBase } from '../enable-pitr.ts';
import { type OpenedLog, openLog } from '../log-access.ts';
import { openPast } from '../past/open-past.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import { reportMassDeletion } from './mass-deletion.ts';

type Result = Awaited<ReturnType<typeof reconcile>>;

const againMs = 2 * minuteMs;

interface Compared {
  readonly at: string;
  readonly result: Result;
  readonly reads: number;
}

/**
 * Compares base and log with the database at one instant. If they are equal, the log is proved; differences are
 * repaired, recorded and shown.
 */
export async function runReconciliation(
  context: PitrContext,
  job: RunningJob<{ organizationId: string; projectId: string }>,
): Promise<void> {
  const { platform } = context.backups;
  const { organizationId, projectId } = job.data;
  const found = await platform.database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.find(transaction, organizationId, projectId);
    const project = row && (await projectStore.findKept(transaction, organizationId, projectId));
    const isActive = await context.backups.organizations.active(transaction, organizationId);
    return row?.enabled && project && isActive ? { row, project } : undefined;
  });
  if (!found) return;
  const { row, project } = found;
  const compared = await compare(context, row, project, job.signal).catch(async (error: unknown) => {
    // No base reaches the end of the log. The maintenance task requests one; then there will be something to compare.
    if ((error as { code?: string }).code !== 'POINT_IN_TIME_UNAVAILABLE') throw error;
    await postpone(context, row, platform.clock.now().getTime() + againMs);
    return undefined;
  });
  if (!compared) return;
  const { at, result, reads } = compared;
  platform.log.info({ projectId, at, ...result, repair: undefined, reads }, 'a log was compared with its database');
  await settle(context, project, row, compared);
}

async function compare(
  context: PitrContext,
  { organizationId, projectId, coveredThrough: at }: LogRow,
  project: ProjectRow,
  signal: AbortSignal,
): Promise<Compared> {
  const past = await openPast(context, { organizationId, projectId, at, signal, isProof: true });
  try {
    const { source, close } = await context.backups.sources.open(project);
    try {
      const result = await reconcile({ source, view: past.view, at, scope: wholeDatabase, signal });
      return { at, result, reads: source.usage.documentsRead };
    } finally {
      await close();
    }
  } finally {
    await past.close();
  }
}

async function postpone(context: PitrContext, row: LogRow, dueMs: number): Promise<void> {
  const { organizationId, projectId } = row;
  await context.backups.platform.database.tenant(organizationId, (transaction) =>
    pitrStore.update(transaction, organizationId, projectId, { reconcileDueAt: new Date(dueMs) }),
  );
}

async function settle(context: PitrContext, project: ProjectRow, row: LogRow, compared: Compared): Promise<void> {
  const { platform, audit } = context.backups;
  const { organizationId, projectId } = row;
  const { at, result, reads } = compared;
  const now = platform.clock.now();
  const segment = result.differences > 0 ? await writeRepair(context, row, compared) : null;
  const isSettled = await platform.database.tenant(organizationId, async (transaction) => {
    const current = await pitrStore.lock(transaction, organizationId, projectId);
    if (!current?.enabled || current.logId !== row.logId) return true;
    // A backup made from the log meanwhile contains the error, so the next comparison has to start after it.
    const isOvertaken = segment && (await baseStore.mayBeOfLogAfter(transaction, organizationId, projectId, at));
    const readsUsed = current.readsUsed + reads;
    if (isOvertaken) {
      await pitrStore.update(transaction, organizationId, projectId, {
        readsUsed,
        reconcileDueAt: new Date(now.getTime() + againMs),
      });
      return false;
    }
    if (segment) await segmentStore.insert(transaction, current, segment, now);
    const updated = await pitrStore.update(transaction, organizationId, projectId, {
      nextSequence: current.nextSequence + (segment ? 1 : 0),
      reconcileDueAt: new Date(now.getTime() + pauseMs(result.documents, platform.config.PITR_READS_PER_HOUR)),
      readsUsed,
      ...(result.isTooMuch ? {} : { lastReconciledAt: new Date(at) }),
      updatedAt: now,
    });
    if (!segment) return true;
    await warnOfDifference(transaction, segment.gap!, row);
    if (result.isTooMuch) await requestBase(context, transaction, project, current);
    else if (segment.deletes > 0) await reportMassDeletion(context, transaction, updated!, project, segment);
    await audit.noteSystem(transaction, organizationId, {
      action: 'pitr.difference_repaired',
      resource: { type: 'project', id: projectId },
      details: { at, differences: result.differences, isTooMuch: result.isTooMuch },
    });
    return true;
  });
  if (segment && !isSettled) await dropSegment(context, row, segment.key);
  if (result.isTooMuch) await admitBackups(platform);
}

/** Every night, and less often when one comparison reads more than the budget of a day. */
function pauseMs(documents: number, readsPerHour: number): number {
  return Math.max(dayMs, (documents / readsPerHour) * hourMs);
}

/** Warns about backups that were made from the log in a time when it missed changes. */
async function warnOfDifference(
  transaction: Parameters<typeof pitrStore.lock>[0],
  gap: { from: string; through: string },
  { organizationId, projectId }: LogRow,
): Promise<void> {
  const text =
    'This backup was made of captured changes, and a later comparison with the database found that some were missing. Take another one, or go to an instant behind the gap.';
  const warned = { from: gap.from, through: gap.through, warning: warning('NOTE', text) };
  await baseStore.warnOfLogBetween(transaction, organizationId, projectId, warned);
}

/** Adds the missed changes to the log, and makes the time since the last proof a gap. */
async function writeRepair(context: PitrContext, row: LogRow, { at, result }: Compared) {
  const { repair, differences, isTooMuch } = result;
  return withLog(context, row, async ({ store, seal, put }) => {
    const writer = new LogWriter({
      store,
      codec: context.backups.engine.codec,
      context: seal,
      nextSequence: row.nextSequence,
      put,
    });
    const found = `A comparison with the database found ${isTooMuch ? 'too many' : differences} documents that the log had otherwise`;
    const since = row.lastReconciledAt === null ? row.startedFrom : instantFromDate(row.lastReconciledAt);
    return await writer.append({
      records: repair,
      coveredFrom: at,
      coveredThrough: at,
      marks: isTooMuch ? [] : [at],
      position: { collectionIds: [], provedThrough: at, resumeToken: null },
      gap: {
        from: laterOf(since, row.startedFrom),
        through: at,
        reason: isTooMuch ? `${found}; a new base is being made.` : `${found}; they were repaired.`,
        // Then nothing is repaired, and only a new base helps.
        ...(isTooMuch ? { deletionsUnknown: true as const } : {}),
      },
    });
  });
}

async function dropSegment(context: PitrContext, row: LogRow, key: string): Promise<void> {
  await withLog(context, row, ({ store }) => store.delete([key])).catch((error: unknown) => {
    // A locked segment stays until its lock ends. No catalogue knows it, so a sweep removes it.
    if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
  });
}

async function withLog<Result>(
  context: PitrContext,
  row: LogRow,
  work: (log: OpenedLog) => Promise<Result>,
): Promise<Result> {
  const log = await openLog(context, row);
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}
