import type { Duplex } from 'node:stream';

const corked = new WeakSet<Duplex>();

/** What is written until everything that runs in this go has asked what it wants to ask leaves in one write. */
export function corkUntilDone(stream: Duplex): void {
  if (corked.has(stream)) return;
  corked.add(stream);
  stream.cork();
  process.nextTick(() => {
    corked.delete(stream);
    stream.uncork();
  });
}
