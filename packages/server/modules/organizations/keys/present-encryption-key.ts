import type { DataOf, Operations } from '@holdfast/contract';
import type { KeyRow } from './key-store.ts';

export function encryptionKeyEtag(row: KeyRow): string {
  return `"${row.id}-${row.version}"`;
}

export function presentEncryptionKey(row: KeyRow): DataOf<Operations['getEncryptionKey']> {
  return {
    source: row.kind === 'service' ? 'service' : 'customer',
    type: row.kind === 'service' ? null : row.kind,
    version: row.version,
    updatedAt: row.activatedAt.toISOString(),
  };
}
