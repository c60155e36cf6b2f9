import type { Transaction } from '../../../platform/database/database.ts';
import type { Caller } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import {
  type BackupInEvent,
  backupStore,
  emitAnomaly,
  retentionStore,
  type StoredAnomaly,
} from '../../backups/index.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import type { SchedulesContext } from '../context.ts';
import { retentionCheckStore } from './retention-check-store.ts';

/** Smaller collections come and go. */
const collectionDocumentsMin = 1000;

interface Counted {
  id: string;
  documentCount: number;
  collectionCounts: Readonly<Record<string, number>>;
}

/** Compares a completed backup with the previous one. A sudden loss is reported and freezes retention. */
export async function detectAnomaly(
  context: SchedulesContext,
  transaction: Transaction,
  facts: BackupInEvent,
): Promise<void> {
  const { row } = facts;
  const before = await retentionStore.previousOf(transaction, row);
  if (!before || row.documentCount === null) return;
  const after = { id: row.id, documentCount: row.documentCount, collectionCounts: row.collectionCounts ?? {} };
  const anomaly = compareCounts(before, after, context.backups.platform.config.ANOMALY_SHRINK_PERCENT);
  if (anomaly) await recordAnomaly(context, transaction, facts, anomaly);
}

/**
 * A backup keeps counts of collections with more than a thousand documents. A collection that shrank below that has no
 * count in the newer backup.
 */
export function compareCounts(before: Counted, after: Counted, shrinkPercent: number): StoredAnomaly | undefined {
  const shrank = (from: number, to: number) => from > 0 && to <= from * (1 - shrinkPercent / 100);
  const measure = ({ id }: Counted, documentCount: number, collection: string | null) => ({
    backupId: id,
    documentCount,
    collection,
  });
  if (shrank(before.documentCount, after.documentCount))
    return {
      reason: 'documents_shrank',
      before: measure(before, before.documentCount, null),
      after: measure(after, after.documentCount, null),
    };
  for (const [path, count] of Object.entries(before.collectionCounts)) {
    // A collection may be named like a property that every object has.
    const now = Object.hasOwn(after.collectionCounts, path) ? after.collectionCounts[path]! : 0;
    if (count <= collectionDocumentsMin || !shrank(count, now)) continue;
    return {
      reason: 'collection_shrank',
      before: measure(before, count, path),
      after: measure(after, now, path),
    };
  }
  return undefined;
}

/** Records the anomaly in the backup, reports it, and freezes the project's retention. */
export async function recordAnomaly(
  context: SchedulesContext,
  transaction: Transaction,
  facts: BackupInEvent,
  anomaly: StoredAnomaly,
): Promise<void> {
  const { platform, audit } = context.backups;
  const { organizationId, id: backupId, projectId } = facts.row;
  const now = platform.clock.now();
  const row = await backupStore.update(transaction, organizationId, backupId, { anomaly, updatedAt: now });
  const project = await projectStore.findKept(transaction, organizationId, projectId);
  if (project && project.retentionFrozen === null) {
    const retentionFrozen = { since: now.toISOString(), backupId, reason: sentences[anomaly.reason] };
    await projectStore.update(transaction, project, { retentionFrozen, updatedAt: now });
  }
  await emitAnomaly(platform.outbox, transaction, { ...facts, row }, anomaly);
  await audit.noteSystem(transaction, organizationId, {
    action: 'backup.anomaly_found',
    resource: { type: 'backup', id: backupId },
    details: { projectId, ...anomaly },
  });
}

const sentences: Record<StoredAnomaly['reason'], string> = {
  documents_shrank: 'The newest backup holds far fewer documents than the one before it.',
  collection_shrank: 'A collection of the newest backup holds far fewer documents than before.',
  verification_failed: 'A verification found a backup damaged.',
  drill_failed: 'A drill could not restore a backup.',
};

/** A person has reviewed the anomaly. Backups of a disconnected project wait for that too. */
export async function unfreezeRetention(
  context: SchedulesContext,
  caller: Caller,
  projectId: string,
): Promise<ProjectRow> {
  const { platform, audit } = context.backups;
  const organizationId = caller.organization.id;
  return platform.database.tenant(organizationId, async (transaction) => {
    const project = await projectStore.lockKept(transaction, organizationId, projectId);
    if (project.retentionFrozen === null)
      throw new Problem('INVALID_STATE', 'Retention of this project is not frozen.', { details: {} });
    const now = platform.clock.now();
    const updated = await projectStore.update(transaction, project, { retentionFrozen: null, updatedAt: now });
    await retentionCheckStore.request(transaction, organizationId, projectId, now);
    await context.onUnfrozen(transaction, updated);
    await audit.noteCaller(transaction, caller, {
      action: 'project.retention_unfrozen',
      resource: { type: 'project', id: projectId },
      details: { ...project.retentionFrozen },
    });
    return updated;
  });
}
