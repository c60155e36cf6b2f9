import type { Operation } from '@holdfast/contract';

/** Calls that cost more than others, or that anybody may make, also have their own limit. */
interface OwnLimit {
  readonly perMinute: number;
  readonly by: 'address' | 'organization';
}

const ownLimits: { readonly [operationId: string]: OwnLimit } = {
  // Each call queries the database and the storage.
  getHealth: { perMinute: 120, by: 'address' },
  // Each call derives a key, which is slow on purpose.
  setEncryptionKey: { perMinute: 10, by: 'organization' },
  rotateEncryptionKey: { perMinute: 10, by: 'organization' },
};

export function ownLimitOf(operation: Operation): OwnLimit | undefined {
  return ownLimits[operation.id];
}
