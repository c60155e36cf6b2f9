import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BlobStore, type EngineError, isEngineError } from '../../ports/index.ts';
import { type HostileStorage, startHostileStorage } from '../../testing/hostile-storage.ts';
import { createS3Store } from './s3-store.ts';

const callTimeoutMs = 500;
let storage: HostileStorage;
let store: BlobStore;

beforeAll(async () => {
  storage = await startHostileStorage('rubbish');
  store = createS3Store({
    kind: 's3',
    bucket: 'things',
    region: 'us-east-1',
    endpoint: storage.endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId: 'someone', secretAccessKey: 'secret' },
    retry: { attemptsMax: 2, delayMsMin: 1, delayMsMax: 2 },
    callTimeoutMs,
  });
});
afterAll(async () => {
  await store.close();
  await storage.stop();
});

async function failureOf(work: Promise<unknown>): Promise<EngineError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(isEngineError(error), String(error)).toBe(true);
  return error as EngineError;
}

async function list(): Promise<number> {
  let keys = 0;
  for await (const _ of store.list('backups/')) keys++;
  return keys;
}

const calls: [string, () => Promise<unknown>][] = [
  ['put', () => store.put('key', new Uint8Array(10))],
  ['get', () => store.get('key')],
  ['getRange', () => store.getRange('key', 0, 10)],
  ['head', () => store.head('key')],
  ['list', list],
  ['delete', () => store.delete(['key'])],
];

test.each(calls)('a redirect in answer to %s is not followed, and says so', async (_name, call) => {
  storage.mischief = 'redirect';
  const error = await failureOf(call());
  expect([error.code, error.message]).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('not followed')]);
  expect(storage.seen.redirected).toBe(0);
});

test.each(calls)('%s ends in time when no answer comes', async (_name, call) => {
  storage.mischief = 'silent';
  const startedAtMs = performance.now();
  const error = await failureOf(call());
  expect([error.code, error.message]).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('did not answer')]);
  expect(performance.now() - startedAtMs).toBeLessThan(callTimeoutMs * 5 + 3000);
});

test('a body that trickles in ends in time too', async () => {
  storage.mischief = 'trickle';
  expect((await failureOf(store.get('key'))).code).toBe('STORAGE_UNAVAILABLE');
});

test('a listing that never advances ends with a clear error', async () => {
  storage.mischief = 'standing still';
  const error = await failureOf(list());
  expect([error.code, error.message]).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('does not advance')]);
});

test('an endless document is cut, and a length that nobody can hold is not believed', async () => {
  storage.mischief = 'endless';
  storage.seen.bytes = 0;
  const error = await failureOf(list());
  expect(error.code).toBe('STORAGE_UNAVAILABLE');
  expect(storage.seen.bytes).toBeLessThan(40 * 1024 * 1024);
  storage.mischief = 'false length';
  expect((await failureOf(store.get('key'))).message).toContain('larger than');
  expect((await failureOf(store.getRange('key', 0, 10))).code).toBe('INTEGRITY_ERROR');
});
