import { addCounts, otherCollections } from '../../format/collection-counter.ts';
import type { ManifestBody } from '../../format/manifest-body.ts';
import { countsOf, listCollections } from '../../format/manifest-counts.ts';
import { formatVersion } from '../../format/segment-header.ts';
import { EngineError } from '../../ports/errors.ts';
import type { Instant } from '../../ports/instant.ts';
import type { BackupPlan } from './backup-plan.ts';
import type { RangeState } from './run-range.ts';
import { type WriteManifestOptions, type WrittenManifest, writeManifest } from './write-manifest.ts';

export interface FinishBackupOptions extends WriteManifestOptions {
  readonly plan: BackupPlan;
  /** One complete state per range, in any order. */
  readonly ranges: readonly RangeState[];
  readonly authUsers: ManifestBody['authUsers'];
  readonly completedAt: Instant;
  readonly warnings?: readonly string[];
  readonly isSafety?: boolean;
}

/** Called after the last range. Throws unless every range of the plan is there and complete. */
export async function finishBackup(options: FinishBackupOptions): Promise<WrittenManifest> {
  const { plan, authUsers, completedAt } = options;
  const states = inOrder(plan, options.ranges);
  const segments = states.flatMap(({ segments: ofRange }) => ofRange);
  const collections = new Map<string, number>();
  for (const state of states) addCounts(collections, state.collections);
  const documents = states.reduce((sum, state) => sum + state.documents, 0);
  return await writeManifest(
    {
      formatVersion,
      backupId: plan.backupId,
      type: plan.type,
      database: plan.database,
      scope: plan.scope,
      snapshotTime: plan.snapshotTime,
      createdAt: plan.createdAt,
      completedAt,
      parent: plan.parent,
      mergedFrom: [],
      ranges: states.map(({ range, parts }) => ({ ...plan.ranges[range]!, parts })),
      counts: countsOf(documents, segments, authUsers?.segments ?? []),
      collections: listCollections(collections),
      collectionsTruncated: collections.has(otherCollections),
      authUsers,
      warnings: [...(options.warnings ?? []), ...snapshotWarnings(plan, states)],
      ...(options.isSafety ? { isSafety: true } : {}),
    },
    segments,
    options,
  );
}

function inOrder(plan: BackupPlan, states: readonly RangeState[]): RangeState[] {
  const sorted = states.toSorted((left, right) => left.range - right.range);
  const isWhole =
    sorted.length === plan.ranges.length && sorted.every((state, index) => state.range === index && state.isComplete);
  if (isWhole) return sorted;
  throw new EngineError(
    'INTEGRITY_ERROR',
    `Backup ${plan.backupId} has ranges that are not finished; no manifest is written.`,
  );
}

/** Warns when not everything could be read at the snapshot time. */
function snapshotWarnings(plan: BackupPlan, states: readonly RangeState[]): string[] {
  const moved = states.filter(({ parts }) => parts.some(({ readTime }) => readTime !== plan.snapshotTime)).length;
  if (moved === 0) return [];
  return [
    `SNAPSHOT_SPREAD: The scan outlasted how far back the database can be read: parts of ${moved} of ${states.length} ranges were read as of a later time than ${plan.snapshotTime}. The ranges list which.`,
  ];
}
