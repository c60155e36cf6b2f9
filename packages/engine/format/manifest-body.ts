import type { AuthHashConfiguration } from '../ports/auth-users.ts';
import type { Scope } from '../ports/document-source.ts';
import { EngineError } from '../ports/errors.ts';
import type { Instant } from '../ports/instant.ts';
import { parseDescriptor, type SegmentDescriptor } from './descriptor.ts';
import { formatVersion } from './segment-header.ts';

export type BackupType = 'full' | 'incremental' | 'synthetic';

export interface ManifestRange {
  readonly start: string | null;
  readonly end: string | null;
  /** Which part of the range was read at which time; one part unless the source could not read that far back. */
  readonly parts: readonly { readonly start: string | null; readonly readTime: Instant }[];
}

export interface ManifestCounts {
  /** Documents in the whole view, chain included. */
  readonly documents: number;
  readonly puts: number;
  readonly deletes: number;
  readonly segments: number;
  readonly plainBytes: number;
  readonly storedBytes: number;
}

export interface ShardDescriptor {
  readonly id: string;
  readonly sha256: string;
  readonly storedBytes: number;
  readonly segments: number;
  readonly firstPath: string;
  readonly lastPath: string;
}

export interface ManifestBody {
  readonly formatVersion: number;
  readonly backupId: string;
  readonly type: BackupType;
  readonly database: string;
  readonly scope: Scope;
  readonly snapshotTime: Instant;
  readonly createdAt: Instant;
  readonly completedAt: Instant;
  readonly parent: { readonly backupId: string; readonly manifestSha256: string } | null;
  readonly mergedFrom: readonly string[];
  readonly ranges: readonly ManifestRange[];
  readonly counts: ManifestCounts;
  readonly collections: readonly { readonly path: string; readonly documents: number }[];
  readonly collectionsTruncated: boolean;
  readonly segments: readonly SegmentDescriptor[];
  readonly shards: readonly ShardDescriptor[];
  readonly authUsers: {
    readonly count: number;
    readonly hashConfiguration: AuthHashConfiguration;
    readonly segments: readonly SegmentDescriptor[];
  } | null;
  readonly warnings: readonly string[];
  /** A safety backup; `latest` does not mean it. */
  readonly isSafety?: boolean;
  /** The kind of file it was made from. `latest` does not mean such a backup either, however new it is. */
  readonly importedFrom?: string;
  /** Why it was made, as the service says: a schedule, a person, a key, a restore, captured changes. */
  readonly trigger?: string;
  /**
   * The log that continues from this backup: it was read at a mark of that log, or made from it. Null: no log. Absent
   * in backups from before this field existed.
   */
  readonly log?: string | null;
}

/** Time that was taken from another log. */
export interface JoinedTime {
  readonly logId: string;
  readonly from: Instant;
  readonly through: Instant;
}

export interface LogManifestBody {
  readonly formatVersion: number;
  readonly logId: string;
  readonly database: string;
  readonly scope: Scope;
  readonly createdAt: Instant;
  readonly from: Instant;
  readonly joined?: readonly JoinedTime[];
}

/** When the last part of a backup was read: its snapshot time, unless the source could not read that far back. */
export function readThrough({ snapshotTime, ranges }: Pick<ManifestBody, 'snapshotTime' | 'ranges'>): Instant {
  const times = ranges.flatMap(({ parts }) => parts.map(({ readTime }) => readTime));
  return [snapshotTime, ...times].sort().at(-1)!;
}

/**
 * Checks the shape of a body. Its seal was checked already, so its author had the key. But the author may be hostile,
 * or another version, so nothing is trusted.
 */
export function parseManifestBody(given: unknown): ManifestBody {
  const body = given as ManifestBody;
  if (body?.formatVersion !== formatVersion || !Array.isArray(body.segments) || !Array.isArray(body.shards)) {
    throw new EngineError('INTEGRITY_ERROR', 'The manifest is of an unknown version.');
  }
  for (const descriptor of body.segments) parseDescriptor(descriptor);
  const users = body.authUsers ?? { segments: [] };
  const isSound =
    [body.backupId, body.database, body.createdAt, body.completedAt, body.snapshotTime].every(isText) &&
    ['full', 'incremental', 'synthetic'].includes(body.type) &&
    isObject(body.counts) &&
    countNames.every((name) => isCount(body.counts[name])) &&
    isScope(body.scope) &&
    (body.parent === null || (isText(body.parent?.backupId) && isText(body.parent.manifestSha256))) &&
    isListOf(body.shards, isShard) &&
    isListOf(body.ranges, isRange) &&
    isListOf(body.collections, ({ path, documents }) => isText(path) && isCount(documents)) &&
    [body.trigger, body.importedFrom].every((word) => word === undefined || isText(word)) &&
    (body.log === undefined || body.log === null || isText(body.log)) &&
    Array.isArray(body.warnings) &&
    body.warnings.every(isText) &&
    Array.isArray(users.segments);
  if (!isSound) throw new EngineError('INTEGRITY_ERROR', 'The manifest is not what a manifest should be.');
  for (const descriptor of users.segments) parseDescriptor(descriptor);
  return body;
}

const countNames = ['documents', 'puts', 'deletes', 'segments', 'plainBytes', 'storedBytes'] as const;

const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

function isListOf<Item>(values: readonly Item[], isOne: (value: Item) => boolean): boolean {
  return Array.isArray(values) && values.every((value) => isObject(value) && isOne(value as Item));
}

function isScope(scope: Scope): boolean {
  if (!isObject(scope)) return false;
  const { collections, excludeCollections, includeSubcollections, documents } = scope;
  return (
    (collections === 'all' || isTexts(collections)) &&
    isTexts(excludeCollections) &&
    typeof includeSubcollections === 'boolean' &&
    (documents === undefined || isTexts(documents))
  );
}

function isShard({ id, sha256, storedBytes, segments, firstPath, lastPath }: ShardDescriptor): boolean {
  return [id, sha256, firstPath, lastPath].every(isText) && isCount(storedBytes) && isCount(segments);
}

function isRange({ start, end, parts }: ManifestRange): boolean {
  const isBound = (value: unknown) => value === null || isText(value);
  return isBound(start) && isBound(end) && isListOf(parts, (part) => isBound(part.start) && isText(part.readTime));
}
