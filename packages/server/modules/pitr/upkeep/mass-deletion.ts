import { instantFromDate, type LogSegment } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { hourMs, minuteMs } from '../../../platform/durations.ts';
import { massDeletionOf } from '../../notifications/index.ts';
import type { ProjectRow } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { coverageOfLog, lastReachable } from '../coverage.ts';
import { type MassDeletion, massDeletion, toExact } from '../pitr-events.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { type DeletesOfSegment, segmentStore } from '../segment-store.ts';

/** Fewer deletions than this are normal, whatever their share. */
const deletesMin = 50;
/** This many deletions are reported even when they are a small share. */
const deletesAlways = 100_000;
const windowMs = minuteMs;
/**
 * One accident is reported once and not for every segment: not again until an hour is over, or a minute without such
 * deletions.
 */
const quietMs = hourMs;
/** Segments with fewer deletions than this share of the largest one are normal activity beside the accident. */
const earnestShare = 1 / 20;

/**
 * Reports by event and mail that many documents were deleted within a minute, with the last reachable instant before
 * it.
 */
export async function reportMassDeletion(
  context: PitrContext,
  transaction: Transaction,
  row: LogRow,
  project: ProjectRow,
  segment: LogSegment,
): Promise<void> {
  const { clock, config, outbox } = context.backups.platform;
  const now = clock.now();
  const since = instantFromDate(new Date(Date.parse(segment.coveredThrough) - windowMs));
  const segments = await segmentStore.deletesSince(transaction, row.logId, since);
  const deletes = segments.reduce((sum, one) => sum + one.deletes, 0);
  if (deletes < deletesMin || (await wasReported(transaction, row, now))) return;
  const coverage = await coverageOfLog(transaction, row);
  const base = coverage.bases.at(-1);
  // An old base may be smaller than what was deleted since.
  const documents = Math.max(base?.documentCount ?? 0, deletes);
  const isLarge = deletes >= deletesAlways || deletes * 100 >= documents * config.ANOMALY_SHRINK_PERCENT;
  if (!base || !isLarge) return;
  await pitrStore.update(transaction, row.organizationId, row.projectId, { anomalyToldAt: now });
  const before = beginningOf(segments);
  const reachable = lastReachable(before, coverage);
  const anomaly: MassDeletion = {
    reason: 'mass_deletion',
    deletes,
    documents,
    momentBefore: toExact(before),
    suggestedPointInTime: reachable === null ? null : toExact(reachable),
    collections: Object.keys(segment.collections).slice(0, 100),
  };
  await outbox.emit(transaction, massDeletion(project, anomaly));
  await context.backups.audit.noteSystem(transaction, row.organizationId, {
    action: 'pitr.anomaly_found',
    resource: { type: 'project', id: project.id },
    details: anomaly,
  });
  // An open report must not hide the next one.
  const subject = massDeletionOf(project.id);
  await context.troubles.end(transaction, row.organizationId, ['backup.anomaly'], subject);
  await context.troubles.begin(transaction, row.organizationId, 'backup.anomaly', subject, {
    title: `Many documents of ${project.name} were deleted`,
    detail: `${deletes} documents were deleted within a minute; the newest base held ${documents}. ${whatIsReached(anomaly)}`,
    advice: whatToDo(project.id, anomaly),
    page: `/projects/${project.id}`,
    isUrgent: true,
  });
}

/** Whether these deletions belong to the reported ones: no minute without deletions since then. */
async function wasReported(transaction: Transaction, row: LogRow, now: Date): Promise<boolean> {
  const { anomalyToldAt: toldAt, logId } = row;
  if (toldAt === null || now.getTime() - toldAt.getTime() >= quietMs) return false;
  const since = await segmentStore.deletesSince(transaction, logId, instantFromDate(toldAt));
  const times = [toldAt.getTime(), ...inEarnest(since).map(({ before }) => Date.parse(before))];
  return times.every((time, index) => index === 0 || time - times[index - 1]! <= windowMs);
}

function whatIsReached({ momentBefore, suggestedPointInTime }: MassDeletion): string {
  const then = `The moment just before was ${momentBefore}`;
  if (suggestedPointInTime === momentBefore) return `${then}.`;
  return suggestedPointInTime === null
    ? `${then}; neither it nor one before it was captured so that it can be reached.`
    : `${then}; it cannot be reached. The last one before it that can is ${suggestedPointInTime}: what was written in between is not in it.`;
}

function whatToDo(projectId: string, { suggestedPointInTime }: MassDeletion): string {
  return suggestedPointInTime === null
    ? `If that was not meant, restore a backup from before it: holdfast backup list --project ${projectId}`
    : `If that was not meant, go back to that moment: holdfast pitr restore ${projectId} --at ${suggestedPointInTime}`;
}

/** Where the mass deletion began; a single deletion some seconds before is normal. */
function beginningOf(segments: readonly DeletesOfSegment[]): string {
  return inEarnest(segments)[0]!.before;
}

function inEarnest(segments: readonly DeletesOfSegment[]): DeletesOfSegment[] {
  const most = Math.max(...segments.map(({ deletes }) => deletes));
  return segments.filter(({ deletes }) => deletes >= most * earnestShare);
}
