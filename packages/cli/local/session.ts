import {
  type BackupReader,
  type BlobStore,
  EngineError,
  type KeyRing,
  listBackups,
  openChain,
  SegmentCodec,
  type View,
  viewOfChain,
} from '@holdfast/engine';
import { openStore } from './open-store.ts';
import type { StoreOptions } from './options.ts';
import { keyRingOf } from './secrets.ts';

/** What a command on a store works with; closed when it ends, stopped by Ctrl-C. */
export interface Session {
  readonly store: BlobStore;
  readonly keys: KeyRing;
  readonly codec: SegmentCodec;
  readonly signal: AbortSignal;
}

export async function withSession(options: StoreOptions, work: (session: Session) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  const store = await openStore(options.store);
  try {
    const keys = await keyRingOf(options, store);
    await work({ store, keys, codec: new SegmentCodec(), signal: stop.signal });
  } finally {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onInterrupt);
    await store.close();
  }
}

/** The chain that ends at a backup; `latest` is the newest finished one of a whole database. */
export async function chainOf(session: Session, reference: string): Promise<BackupReader[]> {
  const backupId = reference === 'latest' ? await latestId(session) : reference;
  return await openChain({ ...session, backupId });
}

export async function viewOf(session: Session, reference: string): Promise<View> {
  return viewOfChain(await chainOf(session, reference));
}

async function latestId({ store, keys, codec, signal }: Session): Promise<string> {
  let latest: { backupId: string; createdAt: string } | undefined;
  let unopened = 0;
  for await (const { backupId, body, problem } of listBackups(store, keys, codec, { signal })) {
    if (problem?.code === 'DECRYPTION_ERROR') unopened++;
    if (body === null || body.scope.collections !== 'all' || body.scope.documents !== undefined) continue;
    if (latest === undefined || body.createdAt > latest.createdAt) latest = { backupId, createdAt: body.createdAt };
  }
  if (latest === undefined && unopened > 0)
    throw new EngineError(
      'DECRYPTION_ERROR',
      `${unopened} backups lie in ${store.location}; this key opens none of them.`,
    );
  if (latest === undefined) throw new EngineError('STORAGE_NOT_FOUND', `There is no backup in ${store.location}.`);
  return latest.backupId;
}
