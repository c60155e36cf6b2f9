import {
  type BackupReader,
  type BlobStore,
  isEngineError,
  type KeyRing,
  manifestKey,
  openChain,
  SegmentCodec,
  type View,
  viewOfChain,
} from '@holdfast/engine';
import { CommandFailure } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';
import { latestId } from './latest.ts';
import { openStore } from './open-store.ts';
import type { StoreOptions } from './options.ts';
import { keyRingOf } from './secrets.ts';

/** Everything a command on a store needs; closed when it ends, stopped by Ctrl-C. */
export interface Session {
  readonly store: BlobStore;
  readonly keys: KeyRing;
  readonly codec: SegmentCodec;
  readonly signal: AbortSignal;
}

/** `isMade`: the command may be the first to write into the store, so a missing folder is created. */
export async function withSession(
  options: StoreOptions,
  work: (session: Session) => Promise<void>,
  { isMade = false } = {},
): Promise<void> {
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  const store = await openStore(options.store, { isMade });
  try {
    const keys = await keyRingOf(options, store, { isNew: isMade });
    await work({ store, keys, codec: new SegmentCodec(), signal: stop.signal });
  } finally {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onInterrupt);
    await store.close();
  }
}

/** The chain that ends at a backup, given by its id or by `latest`. */
export async function chainOf(session: Session, reference: string): Promise<BackupReader[]> {
  const isLatest = reference === 'latest' || reference.startsWith('latest:');
  const backupId = isLatest ? await latestId(session, reference.slice('latest:'.length)) : reference;
  return await openChain({ ...session, backupId }).catch((error: unknown) => {
    const isNone = isEngineError(error, 'STORAGE_NOT_FOUND') && error.details?.key === manifestKey(backupId);
    throw isNone ? noBackup(backupId, session.store.location) : error;
  });
}

function noBackup(backupId: string, location: string): CommandFailure {
  return new CommandFailure('BACKUP_NOT_FOUND', `There is no backup ${backupId} in ${location}.`, {
    exit: exitCode.notFound,
    remedy: '`holdfast local list` shows what there is; `latest` is the newest.',
  });
}

export async function viewOf(session: Session, reference: string): Promise<View> {
  return viewOfChain(await chainOf(session, reference));
}
