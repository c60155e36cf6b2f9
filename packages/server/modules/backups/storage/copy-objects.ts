import { type BlobStore, backupPrefix, manifestKey } from '@holdfast/engine';
import { putIfDifferent } from '../../storage/index.ts';

export interface CopyOptions {
  signal: AbortSignal;
  onObject?: (bytes: number) => Promise<void> | void;
}

/**
 * Copies every object of a backup and reads each one back. The manifest is copied last, so that an incomplete copy does
 * not count as a backup. Objects that are there with the same bytes are not sent again, so an interrupted copy can be
 * continued.
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
