import {
  type BlobStore,
  connectFirestore,
  createLocalStore,
  KeyRing,
  openChain,
  restorePuts,
  runBackup,
  SegmentCodec,
  tuneCollector,
  verifyChain,
  viewOfChain,
} from '@holdfast/engine';
import type { Contender, ContenderTask } from './contender.ts';

const keys = new KeyRing([{ key: new Uint8Array(32).fill(1) }]);
const codec = new SegmentCodec();
let backups = 0;

/** Scan → compress → seal → local store, and back. One range: on one machine there is no latency to hide. */
export const holdfast: Contender = async (task) => {
  const store = await createLocalStore({ root: task.folder });
  if (task.do === 'backup') return await backUp(task, store);
  const chain = await openChain({ store, backupId: await latest(store), keys, codec });
  const view = viewOfChain(chain);
  if (task.do === 'verify') {
    const { documents, isIntact } = await verifyChain(chain, view);
    if (!isIntact) throw new Error('The backup is damaged.');
    return { documents };
  }
  const { target, close } = connectTo(task, task.targetProject ?? task.project);
  const result = await restorePuts({ view, target, mode: 'overwrite', rampUp: false, rewriteReferences: true });
  await close();
  if (result.failed > 0) throw new Error(`${result.failed} documents failed.`);
  return { documents: result.written };
};

async function backUp(task: ContenderTask, store: BlobStore): Promise<{ documents: number; storedBytes: number }> {
  tuneCollector();
  const { source, close } = connectTo(task, task.project);
  backups += 1;
  const backupId = `b${String(backups).padStart(4, '0')}-${process.pid}`;
  const { body, storedBytes } = await runBackup({
    source,
    store,
    keys,
    codec,
    backupId,
    concurrency: 1,
    targetRanges: 1,
  });
  await close();
  return { documents: body.counts.documents, storedBytes };
}

function connectTo({ address }: ContenderTask, projectId: string) {
  return connectFirestore({ projectId, connection: { type: 'emulator', host: address } });
}

async function latest(store: BlobStore): Promise<string> {
  let backupId = '';
  for await (const { key } of store.list('backups/')) if (key.endsWith('/manifest')) backupId = key.split('/')[1]!;
  return backupId;
}
