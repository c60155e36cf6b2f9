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
  /** Which share of the range was read as of which time; one part unless the source could not reach that far back. */
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
  /** Saved before a restore wrote over it: not what anybody wants back by the word `latest`. */
  readonly isSafety?: boolean;
}

export interface LogManifestBody {
  readonly formatVersion: number;
  readonly logId: string;
  readonly database: string;
  readonly scope: Scope;
  readonly createdAt: Instant;
  readonly from: Instant;
}

/** The body was authenticated already; this guards against our own mistakes and against other versions. */
export function parseManifestBody(given: unknown): ManifestBody {
  const body = given as ManifestBody;
  if (body?.formatVersion !== formatVersion || !Array.isArray(body.segments) || !Array.isArray(body.shards)) {
    throw new EngineError('INTEGRITY_ERROR', 'The manifest is of an unknown version.');
  }
  for (const descriptor of body.segments) parseDescriptor(descriptor);
  for (const descriptor of body.authUsers?.segments ?? []) parseDescriptor(descriptor);
  return body;
}
