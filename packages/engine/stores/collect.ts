import { noteReceived } from '../ports/index.ts';

/** Reads a body of known size into one buffer; stops early when there is more than that, so that memory stays bounded. */
export async function collect(
  body: AsyncIterable<Uint8Array>,
  size: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(size);
  let at = 0;
  const stop = () => (body as { destroy?: (error?: Error) => void }).destroy?.(new Error('cancelled'));
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of body) {
      if (at + chunk.length > size) return undefined;
      bytes.set(chunk, at);
      at += chunk.length;
      noteReceived(chunk.length);
    }
  } finally {
    signal?.removeEventListener('abort', stop);
  }
  return at === size ? bytes : undefined;
}
