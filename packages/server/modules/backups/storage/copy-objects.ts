import { type BlobStore, backupPrefix, manifestKey } from '@holdfast/engine';
import { putIfDifferent } from './put-if-different.ts';

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
    await putIfDifferent(to, key, bytes, { signal });
    total += bytes.length;
    await onObject?.(bytes.length);
  };
  for await (const { key } of from.list(backupPrefix(backupId), { signal })) if (key !== manifest) await copy(key);
  await copy(manifest);
  return total;
}
