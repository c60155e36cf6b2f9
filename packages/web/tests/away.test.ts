import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { follow } from '../app/api/follow.ts';

const startMs = Date.parse('2026-11-18T09:00:00Z');
const clockOf = (ms: number | null) => ms && new Date(ms).toISOString().slice(11, 19);

/** A stream with a heartbeat every fifteen seconds, until it breaks. */
class QuietStream {
  lastHeardMs = Date.now();
  break: () => void = () => undefined;
  #beat = setInterval(() => {
    this.lastHeardMs = Date.now();
  }, 15_000);

  hush(): void {
    clearInterval(this.#beat);
  }

  async *[Symbol.asyncIterator]() {
    yield* [];
    await new Promise((_, reject) => {
      this.break = () => reject(new Error('broke off'));
    });
  }
}

let told: (number | null)[];
let stop: AbortController;
let open: () => Promise<QuietStream>;
const last = () => clockOf(told.at(-1) ?? null);
const refuse = () => Promise.reject(new Error('refused'));

beforeEach(() => {
  vi.useFakeTimers({ now: startMs });
  [told, stop] = [[], new AbortController()];
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

function begin(stream: QuietStream): void {
  open = async () => stream;
  const sight = {
    untilSeen: () => Promise.resolve(),
    untilHidden: (signal: AbortSignal) => ({ signal, end: () => undefined }),
  };
  const live = { open: () => open(), onItem: () => true };
  void follow(stop.signal, { current: live }, (since) => told.push(since), sight);
}

test('a break is told after ten seconds, and since when: since the service was heard last, not since something changed', async () => {
  const stream = new QuietStream();
  begin(stream);
  await vi.advanceTimersByTimeAsync(20 * 60_000 + 4000);
  open = refuse;
  stream.hush();
  stream.break();
  await vi.advanceTimersByTimeAsync(9000);
  expect(last()).toBeNull();
  await vi.advanceTimersByTimeAsync(1100);
  expect(last()).toBe('09:20:00');
  open = async () => new QuietStream();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(last()).toBeNull();
});

test('a short break after a long quiet time is nobody’s business', async () => {
  const stream = new QuietStream();
  begin(stream);
  await vi.advanceTimersByTimeAsync(60_000);
  const next = new QuietStream();
  let failures = 0;
  open = async () => (failures++ < 2 ? refuse() : next);
  stream.hush();
  stream.break();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told.filter((since) => since !== null)).toEqual([]);
});

test('a service that takes the question and does not answer is told as away as well, and so is one that fell silent', async () => {
  const stream = new QuietStream();
  begin(stream);
  await vi.advanceTimersByTimeAsync(30_000);
  stream.hush();
  open = () => new Promise(() => undefined);
  await vi.advanceTimersByTimeAsync(40_000);
  stream.break();
  await vi.advanceTimersByTimeAsync(100);
  expect(last()).toBe('09:00:30');
});
