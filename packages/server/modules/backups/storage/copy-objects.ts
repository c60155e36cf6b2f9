import { type BlobStore, backupPrefix, EngineError, manifestKey } from '@holdfast/engine';
import { isSame } from './copies-store.ts';

export interface CopyOptions {
  signal: AbortSignal;
  onObject?: (bytes: number) => Promise<void> | void;
}

/**
 * Copies every object of a backup and reads each back; the manifest goes last, so that the copy is no backup before it is
 * whole. What lies there already with the same bytes is not sent again, so the work can be taken up where it broke off.
 */
export async function copyBackupObjects(
  backupId: string,
  from: BlobStore,
  to: Pick<BlobStore, 'put' | 'get' | 'head'>,
  { signal, onObject }: CopyOptions,
): Promise<number> {
  const manifest = manifestKey(backupId);
  let total = 0;
  const copy = async (key: string) => {
    const bytes = await from.get(key, { signal });
    if (!(await isSame(to, key, bytes, { signal }))) {
      await to.put(key, bytes, { signal });
      if (!(await isSame(to, key, bytes, { signal })))
        throw new EngineError('STORAGE_UPLOAD_ERROR', `The copy of ${key} is not what was sent.`, { details: { key } });
    }
    total += bytes.length;
    await onObject?.(bytes.length);
  };
  for await (const { key } of from.list(backupPrefix(backupId), { signal })) if (key !== manifest) await copy(key);
  await copy(manifest);
  return total;
}
