import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The V8 version of Node 24, with which these flags were measured; another version might not know them. */
const knownEngine = /^13\.6\./;

const tuned =
  'tuned for moving bytes: buffers count against the limit of the heap, which may double, and the young are looked at each 16 MiB received';

/**
 * Tunes the garbage collector for a process that mostly moves bytes. V8 collects its whole heap each time 32 MiB were
 * allocated outside of it, even if only for a short time, and a backup allocates that several times a second. These
 * flags count those bytes against the heap's limit and set that limit to twice of what is in use. So V8 collects only
 * when memory really grows: a third less processor time for a backup, and no more memory. Returns what was set, for the
 * log.
 */
export function tuneCollector(): string {
  if (!knownEngine.test(process.versions.v8)) return `as usual: V8 ${process.versions.v8} is not known here`;
  if (runMinorCollection !== undefined) return tuned;
  setFlagsFromString('--external-memory-accounted-in-global-limit');
  setFlagsFromString('--heap-growing-percent=100');
  setFlagsFromString('--expose-gc');
  runMinorCollection = runInNewContext('gc') as MinorCollection;
  setFlagsFromString('--no-expose-gc');
  return tuned;
}

type MinorCollection = (options: { readonly type: 'minor' }) => void;

const receivedBytesMax = 16 * 1024 * 1024;
let runMinorCollection: MinorCollection | undefined;
let receivedBytes = 0;

/**
 * Reports received bytes that are no longer needed. They leave small objects that refer to large memory, and V8 sees
 * only the small objects: it would let twice as much pile up. A collection of the young generation takes less than a
 * millisecond. Does nothing without `tuneCollector`.
 */
export function countReceivedBytes(bytes: number): void {
  receivedBytes += bytes;
  if (receivedBytes < receivedBytesMax) return;
  receivedBytes = 0;
  runMinorCollection?.({ type: 'minor' });
}
