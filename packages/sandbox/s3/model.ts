import type { Piece } from '../objects/contents.ts';

export type ChecksumAlgorithm = 'CRC32' | 'CRC32C' | 'CRC64NVME' | 'SHA1' | 'SHA256';
export const checksumAlgorithms: readonly ChecksumAlgorithm[] = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'];

export interface ObjectChecksum {
  algorithm: ChecksumAlgorithm;
  /** COMPOSITE is a checksum over the parts' checksums and ends in `-<parts>`. */
  type: 'FULL_OBJECT' | 'COMPOSITE';
  value: string;
}

export type LockMode = 'GOVERNANCE' | 'COMPLIANCE';
export interface Retention {
  mode: LockMode;
  untilMs: number;
}

/** An object's headers from a client, stored and returned unchanged. */
export interface ObjectHeaders {
  contentType: string;
  /** Cache-Control, Content-Disposition, Content-Encoding, Content-Language, Expires, by lower-case name. */
  system: Record<string, string>;
  /** x-amz-meta-*, by lower-case name without the prefix. */
  user: Record<string, string>;
}

export interface StoredPart {
  partNumber: number;
  size: number;
  checksum?: string;
}

export interface ObjectVersion {
  key: string;
  versionId: string;
  /** Newer versions of a key have larger numbers. */
  sequence: number;
  isDeleteMarker: boolean;
  size: number;
  etag: string;
  modifiedAtMs: number;
  headers: ObjectHeaders;
  pieces: Piece[];
  parts: StoredPart[];
  checksum?: ObjectChecksum;
  retention?: Retention;
  legalHold: boolean;
}

export interface BucketSettings {
  name: string;
  region: string;
  createdAtMs: number;
  versioning: 'Off' | 'Enabled' | 'Suspended';
  objectLock: boolean;
  defaultRetention?: { mode: LockMode; days?: number; years?: number };
}

export interface UploadedPart {
  partNumber: number;
  size: number;
  etag: string;
  modifiedAtMs: number;
  pieces: Piece[];
  checksum?: { algorithm: ChecksumAlgorithm; value: string };
}

export interface Upload {
  uploadId: string;
  bucket: string;
  key: string;
  createdAtMs: number;
  headers: ObjectHeaders;
  checksumAlgorithm?: ChecksumAlgorithm;
  checksumType?: 'FULL_OBJECT' | 'COMPOSITE';
  retention?: Retention;
  legalHold: boolean;
}
