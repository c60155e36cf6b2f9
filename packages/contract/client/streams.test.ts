import { expect, test, vi } from 'vitest';
import type { HoldfastError } from './error.ts';
import { HoldfastStream } from './streams.ts';

test('a stream of events that is silent has broken, a comment is not silence, and a file may take its time', async () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-18T09:00:00Z') });
  try {
    let say: (text: string) => void = () => {};
    const streamOf = (type: string) => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          say = (text) => controller.enqueue(new TextEncoder().encode(text));
        },
      });
      return new HoldfastStream<{ n: number }>(new Response(body, { headers: { 'content-type': type } }));
    };
    const next = (stream: HoldfastStream<{ n: number }>) => {
      const received: unknown[] = [];
      stream[Symbol.asyncIterator]()
        .next()
        .then(
          (item) => received.push(item.value),
          (error: HoldfastError) => received.push(error.code),
        );
      return received;
    };
    const heard = streamOf('text/event-stream');
    const events = next(heard);
    for (let beats = 0; beats < 10; beats++) {
      say(': still there\n\n');
      await vi.advanceTimersByTimeAsync(15_000);
    }
    expect(events).toEqual([]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(events).toEqual(['NETWORK_ERROR']);
    expect(new Date(heard.lastHeardMs).toISOString()).toBe('2026-11-18T09:02:15.000Z');
    const lines = next(streamOf('application/x-ndjson'));
    await vi.advanceTimersByTimeAsync(600_000);
    say('{"n":1}\n');
    await vi.advanceTimersByTimeAsync(0);
    expect(lines).toEqual([{ n: 1 }]);
  } finally {
    vi.useRealTimers();
  }
});
