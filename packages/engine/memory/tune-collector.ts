import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The engine of Node 24, where these flags were found and measured; another one might not know them and complain. */
const knownEngine = /^13\.6\./;

const tuned =
  'tuned for moving bytes: buffers count against the limit of the heap, which may double, and the young are looked at each 16 MiB received';

/**
 * For a process whose main work is moving bytes: V8 looks at its whole heap each time 32 MiB were allocated beside it,
 * however short-lived they are, and a backup allocates that several times a second. Counting those bytes against the
 * heap's own limit, and setting that limit at twice of what is in use, makes it look when memory really grows: a third
 * less processor time for a backup, and no more memory. Answers what it did, for the log.
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
 * Tells that this many bytes were received and are done with. What is left of them is small objects in front of large
 * memory, and V8 sees the small ones only: it would let twice as much pile up before it looks. A look at the young takes
 * less than a millisecond. Without `tuneCollector` nothing happens.
 */
export function countReceivedBytes(bytes: number): void {
  receivedBytes += bytes;
  if (receivedBytes < receivedBytesMax) return;
  receivedBytes = 0;
  runMinorCollection?.({ type: 'minor' });
}
