import {
  createLocalStore,
  KeyRing,
  openChain,
  restorePuts,
  runBackup,
  SegmentCodec,
  tuneCollector,
  viewOfChain,
} from '@holdfast/engine';
import { GeneratedDatabase } from './generated-database.ts';

/** One piece of work in a process that has done nothing else before; its peak memory is its own. */
const [work, documents, root] = process.argv.slice(2) as ['backup' | 'restore', string, string];
const database = new GeneratedDatabase(Number(documents));
const tools = {
  store: await createLocalStore({ root }),
  keys: new KeyRing([{ key: new Uint8Array(32).fill(1) }]),
  codec: new SegmentCodec(),
  backupId: `scale-${documents}`,
};
tuneCollector();
const startedAtMs = performance.now();
if (work === 'backup') await runBackup({ ...tools, source: database, concurrency: 1, targetRanges: 1 });
else {
  const view = viewOfChain(await openChain(tools));
  await restorePuts({ view, target: database, mode: 'overwrite', rampUp: false, rewriteReferences: false });
}
process.send?.({
  seconds: (performance.now() - startedAtMs) / 1000,
  peakRssBytes: process.resourceUsage().maxRSS * 1024,
});
process.disconnect();
