import type { BackupType, ManifestBody } from '../../format/manifest-body.ts';
import type { DocumentSource, Scope } from '../../ports/document-source.ts';
import { EngineError } from '../../ports/errors.ts';
import type { Instant } from '../../ports/instant.ts';
import { everything, type PathRange } from '../../ports/path-order.ts';
import { chainLengthMax } from '../view/open-view.ts';

/** What all workers of one backup share. Plain JSON: it travels in jobs. */
export interface BackupPlan {
  readonly backupId: string;
  readonly type: Exclude<BackupType, 'synthetic'>;
  readonly database: string;
  readonly scope: Scope;
  readonly snapshotTime: Instant;
  readonly createdAt: Instant;
  readonly ranges: readonly PathRange[];
  readonly parent: { readonly backupId: string; readonly manifestSha256: string } | null;
}

export interface PlanBackupOptions {
  readonly source: DocumentSource;
  readonly backupId: string;
  readonly scope: Scope;
  readonly createdAt: Instant;
  readonly targetRanges: number;
  /** The end of the chain to build on; absent: a full backup. */
  readonly parent?: { readonly body: ManifestBody; readonly manifestSha256: string; readonly chainLength: number };
  /** Range borders of an earlier backup: the cheapest good guess for equal ranges. */
  readonly previousCuts?: readonly string[];
  readonly snapshotTime?: Instant;
  readonly signal?: AbortSignal;
}

export async function planBackup(options: PlanBackupOptions): Promise<BackupPlan> {
  const { source, backupId, scope, createdAt, targetRanges, parent, signal } = options;
  if (parent !== undefined) assertCanFollow(parent, source.database, scope);
  const call = signal === undefined ? {} : { signal };
  const snapshotTime = options.snapshotTime ?? (await source.snapshotTime({ ...call, isLasting: true }));
  const previousCuts = options.previousCuts ?? (parent === undefined ? undefined : cutsOf(parent.body));
  const request = { scope, readTime: snapshotTime, targetRanges, ...(previousCuts ? { previousCuts } : {}), ...call };
  const planned = await source.planRanges(request);
  return {
    backupId,
    type: parent === undefined ? 'full' : 'incremental',
    database: source.database,
    scope,
    snapshotTime,
    createdAt,
    ranges: planned.length === 0 ? [everything] : planned,
    parent: parent === undefined ? null : { backupId: parent.body.backupId, manifestSha256: parent.manifestSha256 },
  };
}

function assertCanFollow(parent: NonNullable<PlanBackupOptions['parent']>, database: string, scope: Scope): void {
  const reason = reasonNotToFollow(parent, database, scope);
  if (reason !== undefined)
    throw new EngineError('VALIDATION_ERROR', `An increment cannot follow ${parent.body.backupId}: ${reason}`);
}

/** Undefined when an increment may build on `parent`; otherwise a sentence that says why a full backup is needed. */
export function reasonNotToFollow(
  parent: { readonly body: ManifestBody; readonly chainLength: number },
  database: string,
  scope: Scope,
): string | undefined {
  if (parent.body.database !== database) return `it holds ${parent.body.database}.`;
  if (!isSameScope(parent.body.scope, scope)) return 'it covers other collections.';
  if (parent.body.importedFrom !== undefined) return 'it was made of a file.';
  if (parent.chainLength >= chainLengthMax) return `its chain is ${parent.chainLength} backups long; merge it first.`;
  return undefined;
}

function isSameScope(left: Scope, right: Scope): boolean {
  const canonical = ({ collections, includeSubcollections, excludeCollections }: Scope) =>
    JSON.stringify([
      collections === 'all' ? 'all' : [...collections].sort(),
      includeSubcollections,
      [...excludeCollections].sort(),
    ]);
  return canonical(left) === canonical(right);
}

/** The bounds of ranges and segments, reduced to a few: where the next backup may cut equal ranges. */
function cutsOf(body: ManifestBody): string[] {
  const starts = [...body.ranges.map(({ start }) => start), ...body.segments.map(({ firstPath }) => firstPath)];
  const shardStarts = body.shards.map(({ firstPath }) => firstPath);
  return [...new Set([...starts, ...shardStarts])].filter((cut): cut is string => cut !== null);
}
