import { type BlobStore, type CallOptions, EngineError, type PutOptions } from '@holdfast/engine';

/** Puts an object unless it is there with the same bytes, and reads it back. Under a lock it could not be replaced. */
export async function putIfDifferent(
  store: Pick<BlobStore, 'head' | 'get' | 'put'>,
  key: string,
  bytes: Uint8Array,
  call: CallOptions,
  lock: Pick<PutOptions, 'lock'> = {},
): Promise<void> {
  if (!(await hasSameBytes(store, key, bytes, call))) await putAndReadBack(store, key, bytes, call, lock);
}

export async function putAndReadBack(
  store: Pick<BlobStore, 'head' | 'get' | 'put'>,
  key: string,
  bytes: Uint8Array,
  call: CallOptions,
  lock: Pick<PutOptions, 'lock'>,
): Promise<void> {
  await store.put(key, bytes, { ...call, ...lock });
  if (await hasSameBytes(store, key, bytes, call)) return;
  throw new EngineError('STORAGE_UPLOAD_ERROR', `The copy of ${key} is not what was sent.`, { details: { key } });
}

/** Reads the object: what cannot be read back is not there. */
async function hasSameBytes(
  store: Pick<BlobStore, 'head' | 'get'>,
  key: string,
  bytes: Uint8Array,
  call: CallOptions,
): Promise<boolean> {
  if ((await store.head(key, call))?.size !== bytes.length) return false;
  return Buffer.compare(await store.get(key, { ...call, bytesMax: bytes.length }), bytes) === 0;
}
