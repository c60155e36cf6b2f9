import type { BodyOf, Operations } from '@holdfast/contract';
import { type ConnectedFirestore, newDataKey } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import { dayMs } from '../../platform/durations.ts';
import type { Caller } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import { requireMayDeleteBackups } from '../../platform/rights.ts';
import { admitBackups, backupStore, destinationsOf } from '../backups/index.ts';
import { toProblem } from '../job-error.ts';
import { type ProjectRow, projectStore } from '../projects/index.ts';
import type { PitrContext } from './context.ts';
import { coverageOfLog } from './coverage.ts';
import { deleteLogOf } from './disable-pitr.ts';
import { pitrSwitched } from './pitr-events.ts';
import { type LogRow, pitrStore } from './pitr-store.ts';
import { presentSummary } from './present-pitr.ts';

type Request = NonNullable<BodyOf<Operations['enablePitr']>>;

const nightMs = dayMs;
const retentionDaysOfNew = 7;

/** Capture begins now, and a base backup is made beside it. Every instant after the base's snapshot can be reached. */
export async function enablePitr(
  context: PitrContext,
  caller: Caller,
  projectId: string,
  request: Request,
  signal: AbortSignal,
): Promise<void> {
  const { platform } = context.backups;
  const organizationId = caller.organization.id;
  const project = await platform.database.tenant(organizationId, async (transaction) => {
    const row = await projectStore.get(transaction, organizationId, projectId);
    const known = await pitrStore.find(transaction, organizationId, projectId);
    if (known?.enabled) throw alreadyOn();
    await destinationOf(context, transaction, organizationId, request, known);
    return row;
  });
  const start = await lookAtSource(context, project, signal);
  await platform.database.tenant(organizationId, async (transaction) => {
    const row = await projectStore.lock(transaction, organizationId, projectId);
    const known = await pitrStore.lock(transaction, organizationId, projectId);
    if (known?.enabled) throw alreadyOn();
    const storageDestinationId = await destinationOf(context, transaction, organizationId, request, known);
    const retentionDays = request.retentionDays ?? known?.retentionDays ?? retentionDaysOfNew;
    if (known) requireMayShorten(caller, known, { ...start, retentionDays });
    const begun = await beginLog(context, transaction, row, known, { ...start, storageDestinationId, retentionDays });
    await requestBase(context, transaction, row, begun);
    const shown = presentSummary(begun, await coverageOfLog(transaction, begun), platform.clock.now());
    await platform.outbox.emit(transaction, pitrSwitched('pitr.enabled', row, shown));
    await context.backups.audit.noteCaller(transaction, caller, {
      action: 'pitr.enabled',
      resource: { type: 'project', id: projectId },
      details: { storageDestinationId, retentionDays },
    });
  });
  await admitBackups(platform);
}

function alreadyOn(): Problem {
  return new Problem('INVALID_STATE', 'Point-in-time recovery is switched on already.', { details: {} });
}

/** Fewer days, or another database, delete what was captured, which needs that permission. */
function requireMayShorten(caller: Caller, known: LogRow, next: { database: string; retentionDays: number }): void {
  const { retentionDays } = next;
  if (known.database !== next.database) requireMayDeleteBackups(caller, 'Deleting what was captured');
  if (retentionDays >= known.retentionDays) return;
  const days = `${retentionDays} instead of ${known.retentionDays} days`;
  requireMayDeleteBackups(caller, `Keeping what was captured for ${days} deletes some of it, which`);
}

/** A log cannot change its destination here: the time captured before would become unreachable without notice. */
async function destinationOf(
  context: PitrContext,
  transaction: Transaction,
  organizationId: string,
  request: Request,
  known: LogRow | undefined,
): Promise<string> {
  const asked = request.storageDestinationId ?? known?.storageDestinationId;
  const [found] = await destinationsOf(context.backups, transaction, organizationId, { storageDestinationId: asked });
  if (!known || found === known.storageDestinationId) return found!;
  throw new Problem(
    'INVALID_STATE',
    'What was captured before lies in another destination. Migrate that one, or delete the log first: switch off with deleteLog.',
    { details: { storageDestinationId: known.storageDestinationId } },
  );
}

/** Checks that the database can be listened to, before anything is switched on. */
async function lookAtSource(
  context: PitrContext,
  project: ProjectRow,
  signal: AbortSignal,
): Promise<{ from: string; database: string }> {
  let firestore: ConnectedFirestore | undefined;
  try {
    firestore = await context.backups.sources.open(project);
    const info = await firestore.source.info({ signal });
    if (!info.realtimeUpdates) {
      throw new Problem(
        'INVALID_STATE',
        'This database was created without real-time updates, so changes cannot be captured. Schedule incremental backups instead.',
        { details: { reason: 'realtime_updates_disabled' } },
      );
    }
    // At the same kind of instant as the base: a whole minute if the source keeps those for days.
    const from = await firestore.source.snapshotTime({ signal, isLasting: true });
    return { from, database: firestore.source.database };
  } catch (error) {
    throw toProblem(error);
  } finally {
    await firestore?.close();
  }
}

/**
 * A paused log continues after a gap. When the database is another one, the old log is deleted and a new one begins.
 */
async function beginLog(
  context: PitrContext,
  transaction: Transaction,
  project: ProjectRow,
  known: LogRow | undefined,
  start: { from: string; database: string; storageDestinationId: string; retentionDays: number },
): Promise<LogRow> {
  const { platform, keys } = context.backups;
  const now = platform.clock.now();
  const { organizationId } = project;
  const due = {
    reconcileDueAt: new Date(now.getTime() + nightMs),
    compactDueAt: new Date(now.getTime() + nightMs),
  };
  const fresh = { enabled: true, retentionDays: start.retentionDays, error: null, failures: 0, retryAt: null, ...due };
  if (known?.database === start.database) return pitrStore.save(transaction, { ...known, ...fresh, updatedAt: now });
  if (known) await deleteLogOf(context, transaction, known);
  const logId = platform.ids.next('bkp').replace(/^bkp_/, 'log_');
  const dataKey = newDataKey();
  const { ring, currentKeyId } = await keys.ring(transaction, organizationId);
  return pitrStore.save(transaction, {
    projectId: project.id,
    organizationId,
    storageDestinationId: start.storageDestinationId,
    logId,
    database: start.database,
    envelope: await ring.wrap(logId, dataKey),
    keyId: currentKeyId,
    manifestWritten: false,
    startedFrom: start.from,
    coveredThrough: start.from,
    position: null,
    nextSequence: 0,
    holder: null,
    heartbeatAt: null,
    readsUsed: 0,
    untold: null,
    toldAt: null,
    anomalyToldAt: null,
    lastReconciledAt: null,
    ...fresh,
    createdAt: now,
    updatedAt: now,
  });
}

/** Requests the base of the log: an increment when there is something to build on, because it stores less. */
export async function requestBase(
  context: PitrContext,
  transaction: Transaction,
  project: ProjectRow,
  row: LogRow,
  type: 'incremental' | 'synthetic' = 'incremental',
): Promise<void> {
  const { platform } = context.backups;
  const now = platform.clock.now();
  await backupStore.insert(
    transaction,
    {
      id: platform.ids.next('bkp'),
      organizationId: project.organizationId,
      projectId: project.id,
      type,
      status: 'pending',
      trigger: 'pitr',
      collections: ['*'],
      excludeCollections: [],
      includeSubcollections: true,
      includeAuthUsers: false,
      storageDestinationId: row.storageDestinationId,
      phase: 'Waiting',
      createdAt: now,
      updatedAt: now,
    },
    [row.storageDestinationId],
  );
}
