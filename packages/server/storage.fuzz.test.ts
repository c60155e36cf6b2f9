import {
  type BlobStore,
  createGcsStore,
  createS3Store,
  deleteBackup,
  isEngineError,
  listBackups,
  openChain,
  probeStore,
  viewOfChain,
} from '@holdfast/engine';
import {
  type GcsSandbox,
  type S3Sandbox,
  sandboxGcsToken,
  sandboxS3Credential,
  startGcsSandbox,
  startS3Sandbox,
} from '@holdfast/sandbox';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { arbitraryDatabase } from '../engine/fixtures/arbitrary-documents.ts';
import { BackupHarness } from '../engine/fixtures/backup-harness.ts';
import { MemoryDatabase } from '../engine/fixtures/memory-source.ts';
import {
  type HostileStorage,
  type Mischief,
  mischiefs,
  startHostileStorage,
  storeErrorCodes,
} from '../engine/testing/hostile-storage.ts';
import { inLanes, Neighbour, Outcomes } from './testing/fuzz/neighbour.ts';
import { fuzzCasesShared as fuzzCases, fuzzSeed, fuzzTimeoutMs, neighbourMsMax } from './testing/fuzz/settings.ts';
import { startTestApp, type TestApp } from './testing/test-app.ts';

/**
 * Storage that is sometimes honest and sometimes hostile, in the service's process. Whatever it answers: the work ends
 * with a code of the port, nobody else waits, and memory stays bounded.
 */

const lanes = 12;
const callTimeoutMs = 100;
const caseMs = 60_000;
/** A whole listing of these takes as long as it may; its limit has its own test. */
const long: readonly Mischief[] = ['never ending', 'one name a page', 'empty pages'];
const codes = [...storeErrorCodes, 'DECRYPTION_ERROR'];

let app: TestApp;
let s3: S3Sandbox;
let gcs: GcsSandbox;
const harness = new BackupHarness();

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['things'] });
  gcs = await startGcsSandbox({ buckets: ['things'] });
  app = await startTestApp({ LOG_LEVEL: 'warn' });
});
afterAll(async () => {
  await app.close();
  await Promise.all([s3.stop(), gcs.stop()]);
});

const kinds = ['s3', 'gcs'] as const;
const actions = ['probe', 'catalogue', 'read', 'remove', 'put', 'lock'] as const;
const arbitraryCase = fc.record({
  kind: fc.constantFrom(...kinds),
  action: fc.constantFrom(...actions),
  /** One kind of mischief for every request, or several with honest answers in between. */
  plan: fc.oneof(
    fc.constantFrom(...mischiefs.filter((mischief) => !long.includes(mischief))).map((mischief) => [mischief]),
    fc.array(fc.oneof(fc.constant('honest' as const), fc.constantFrom(...mischiefs)), { minLength: 2, maxLength: 12 }),
  ),
});
type Case = typeof arbitraryCase extends fc.Arbitrary<infer One> ? One : never;

function open(kind: Case['kind'], endpoint: string): BlobStore | Promise<BlobStore> {
  const options = {
    bucket: 'things',
    endpoint,
    callTimeoutMs,
    retry: { attemptsMax: 3, delayMsMin: 1, delayMsMax: 5 },
  };
  if (kind === 'gcs')
    return createGcsStore({
      ...options,
      credentials: { type: 'access_token', accessToken: async () => sandboxGcsToken },
    });
  return createS3Store({
    ...options,
    kind,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: sandboxS3Credential,
  });
}

/** Does the same things as jobs. */
async function act(action: Case['action'], store: BlobStore): Promise<void> {
  const { keys, codec } = harness;
  if (action === 'probe') {
    const failed = (await probeStore(store, { locks: true })).find((step) => !step.ok);
    if (failed) throw failed.error;
  } else if (action === 'catalogue') for await (const _ of listBackups(store, keys, codec, {}));
  else if (action === 'read') {
    const view = viewOfChain(await openChain({ store, backupId: 'bkp_1', keys, codec }));
    for await (const _ of view.records());
  } else if (action === 'remove') await deleteBackup(store, 'bkp_none', {});
  else if (action === 'put') await store.put('some/key', new Uint8Array(70_000).fill(7));
  else await store.extendLock(['some/key'], { mode: 'governance', retainUntil: new Date(2e12) });
}

async function tryCase({ kind, action, plan }: Case, server: HostileStorage, outcomes: Outcomes): Promise<void> {
  let asked = 0;
  server.mischief = () => plan[asked++ % plan.length] ?? 'honest';
  const store = await open(kind, server.endpoint);
  const startedAtMs = performance.now();
  const error = await act(action, store).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  await store.close();
  const tookMs = performance.now() - startedAtMs;
  const outcome = error === undefined ? 'done' : isEngineError(error) ? error.code : String(error);
  outcomes.add(outcome);
  const what = `${kind} ${action} ${JSON.stringify(plan)}`;
  if (outcome !== 'done' && !codes.includes(outcome)) outcomes.faults.push(`${what} → ${outcome}`);
  if (tookMs > caseMs) outcomes.faults.push(`${what} took ${Math.round(tookMs)} ms`);
}

test(
  'whatever a storage answers, work ends with a code of the port and no other tenant waits',
  async () => {
    const [documents] = fc.sample(arbitraryDatabase(20), { numRuns: 1, seed: fuzzSeed });
    await harness.backUp(new MemoryDatabase(documents ?? []));
    for (const [kind, endpoint] of [
      ['s3', s3.endpoint],
      ['gcs', gcs.endpoint],
    ] as const) {
      const store = await open(kind, endpoint);
      for await (const { key } of harness.store.list('')) await store.put(key, await harness.store.get(key));
      await store.close();
    }
    const servers = await Promise.all(
      Array.from({ length: lanes * kinds.length }, (_, at) =>
        startHostileStorage('honest', at < lanes ? s3.endpoint : gcs.endpoint),
      ),
    );
    const neighbour = await Neighbour.moveIn(app);
    const outcomes = new Outcomes();
    const run = async (index: number, lane: number) => {
      const [one] = fc.sample(arbitraryCase, { numRuns: 1, seed: fuzzSeed + index }) as [Case];
      await tryCase(one, servers[one.kind === 's3' ? lane : lanes + lane]!, outcomes);
    };
    await inLanes(Math.min(fuzzCases, 24), lanes, run);
    await neighbour.begin();
    await inLanes(fuzzCases, lanes, run);
    const toll = await neighbour.end();
    outcomes.report('storage', toll);
    await Promise.all(servers.map((server) => server.stop()));
    expect(outcomes.faults.slice(0, 20), `seed ${fuzzSeed}`).toEqual([]);
    expect(toll.answers).toBeGreaterThan(10);
    expect(toll.slowestMs).toBeLessThanOrEqual(neighbourMsMax);
    expect(toll.memoryGrowthMib).toBeLessThanOrEqual(300);
  },
  fuzzTimeoutMs,
);
