import type { Duplex } from 'node:stream';

const corked = new WeakSet<Duplex>();

/** Collects what is written until everything that runs in this turn has been written, and sends it in one write. */
export function corkUntilDone(stream: Duplex): void {
  if (corked.has(stream)) return;
  corked.add(stream);
  stream.cork();
  process.nextTick(() => {
    corked.delete(stream);
    stream.uncork();
  });
}
