import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EngineError, isEngineError, type VersionedBlobStore } from '../ports/index.ts';
import {
  type HostileStorage,
  type Mischief,
  mischiefs,
  startHostileStorage,
  storeErrorCodes,
} from '../testing/hostile-storage.ts';
import { createGcsStore } from './gcs/gcs-store.ts';
import { createS3Store } from './s3/s3-store.ts';

const callTimeoutMs = 120;
/** Where the answer decides and not the time: a machine that stands still must not make it late. */
const patientMs = 30_000;
const options = {
  bucket: 'things',
  retry: { attemptsMax: 2, delayMsMin: 1, delayMsMax: 2 },
};
const openers: Record<string, (endpoint: string, callTimeoutMs: number) => VersionedBlobStore> = {
  s3: (endpoint, callTimeoutMs) =>
    createS3Store({
      ...options,
      callTimeoutMs,
      endpoint,
      kind: 's3',
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: 'someone', secretAccessKey: 'secret' },
    }),
  gcs: (endpoint, callTimeoutMs) =>
    createGcsStore({
      ...options,
      callTimeoutMs,
      endpoint,
      credentials: { type: 'access_token', accessToken: async () => 'token' },
    }),
};

function callsTo(store: VersionedBlobStore): [string, () => Promise<unknown>][] {
  return [
    ['put', () => store.put('key', new Uint8Array(10))],
    ['get', () => store.get('key')],
    ['getRange', () => store.getRange('key', 0, 10)],
    ['head', () => store.head('key')],
    ['list', () => listed(store)],
    ['delete', () => store.delete(['key'], { purge: true })],
    ['listHidden', () => hidden(store)],
    ['purgeHidden', () => store.purgeHidden([{ key: 'key', versions: [{ id: '1', size: 1 }], markers: [] }])],
    ['extendLock', () => store.extendLock(['key'], { mode: 'governance', retainUntil: new Date(2e12) })],
  ];
}

async function listed(store: VersionedBlobStore): Promise<number> {
  let names = 0;
  for await (const _ of store.list('backups/')) names++;
  return names;
}

async function hidden(store: VersionedBlobStore): Promise<number> {
  let names = 0;
  for await (const _ of store.listHidden('backups/')) names++;
  return names;
}

describe.each(Object.keys(openers))('%s storage that means no good', (kind) => {
  let storage: HostileStorage;
  let store: VersionedBlobStore;
  let hurried: VersionedBlobStore;
  beforeAll(async () => {
    storage = await startHostileStorage('rubbish');
    store = openers[kind]!(storage.endpoint, patientMs);
    hurried = openers[kind]!(storage.endpoint, callTimeoutMs);
  });
  afterAll(async () => {
    await Promise.all([store.close(), hurried.close()]);
    await storage.stop();
  });

  const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  async function failureOf(work: Promise<unknown>): Promise<EngineError> {
    const error = await outcomeOf(work);
    expect(isEngineError(error), String(error)).toBe(true);
    return error as EngineError;
  }

  const calls = callsTo({} as VersionedBlobStore).map(([name]) => name);
  const call = (name: string, to = store) => callsTo(to).find(([one]) => one === name)![1]();
  const list = () => call('list');

  test.each(calls)('a redirect in answer to %s is not followed, and says so', async (name) => {
    storage.mischief = 'redirect';
    const error = await failureOf(call(name));
    expect([error.code, error.message]).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('not followed')]);
    expect(storage.seen.redirected).toBe(0);
  });

  test.each(calls)('%s ends in time when no answer comes', async (name) => {
    storage.mischief = 'silent';
    const startedAtMs = performance.now();
    const error = await failureOf(call(name, hurried));
    expect([error.code, error.message]).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('did not answer')]);
    expect(performance.now() - startedAtMs).toBeLessThan(callTimeoutMs * 5 + 15_000);
  });

  test('a body that trickles in ends in time too', async () => {
    storage.mischief = 'trickle';
    expect((await failureOf(hurried.get('key'))).code).toBe('STORAGE_UNAVAILABLE');
  });

  test('a listing that never advances ends with a clear error', async () => {
    for (const mischief of ['standing still', 'going backwards'] as const) {
      storage.mischief = mischief;
      const error = await failureOf(list());
      expect([error.code, error.message]).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('does not advance')]);
    }
  });

  test.skipIf(kind === 'gcs')(
    'a page that says there is more, and not from where on, is no whole listing',
    async () => {
      storage.mischief = 'more, and not from where';
      expect((await failureOf(list())).message).toContain('does not advance');
    },
  );

  test('a listing of versions that never advances, goes backwards or never leaves one name ends with a clear error', {
    tags: 'long',
  }, async () => {
    for (const mischief of ['versions standing still', 'versions going backwards'] as const) {
      storage.mischief = mischief;
      const error = await failureOf(call('listHidden'));
      expect([error.code, error.message]).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('does not advance')]);
    }
    storage.mischief = 'versions of one name for ever';
    expect((await failureOf(call('listHidden', hurried))).code).toBe('STORAGE_UNAVAILABLE');
  });

  test('versions of names that nobody asked for are not handed on, nor any whose current version is in doubt', async () => {
    storage.mischief = 'versions of foreign names';
    expect((await failureOf(call('listHidden'))).message).toContain('not asked for');
    storage.mischief = 'versions in doubt';
    expect(await call('listHidden')).toBe(0);
  });

  test('names that nobody asked for are not handed on', async () => {
    storage.mischief = 'foreign names';
    const error = await failureOf(list());
    expect([error.code, error.message]).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('not asked for')]);
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

  test('whatever it answers, every call ends, and ends with a code of the port', { tags: 'long' }, async () => {
    const outcomes = await Promise.all(mischiefs.map((mischief) => outcomesOf(mischief)));
    for (const [name, error] of outcomes.flat())
      if (error !== undefined)
        expect(storeErrorCodes, `${name}: ${error}`).toContain(isEngineError(error) ? error.code : error);
  });

  async function outcomesOf(mischief: Mischief): Promise<[string, unknown][]> {
    const server = await startHostileStorage(mischief);
    const asked = openers[kind]!(server.endpoint, callTimeoutMs);
    const outcomes: [string, unknown][] = [];
    // Those go on as long as they are allowed to; how long that is is tested by itself.
    const isLong = /never ending|one name a page|empty pages|for ever/.test(mischief);
    await Promise.all(
      callsTo(asked)
        .filter(([name]) => !/list/i.test(name) || !isLong)
        .map(async ([name, call]) => outcomes.push([`${name}, ${mischief}`, await outcomeOf(call())])),
    );
    await asked.close();
    await server.stop();
    return outcomes;
  }
});
