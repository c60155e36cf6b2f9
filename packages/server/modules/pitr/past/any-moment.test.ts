// @module-tag long
import { Timestamp } from '@google-cloud/firestore';
import { instantFromParts, instantToParts, parseInstant } from '@holdfast/engine';
import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { BackupBench } from '../../../testing/backup-bench.ts';
import { startPitrBench } from '../../../testing/pitr-bench.ts';

/**
 * Random histories, and then moments in what is said to be covered, both edges of it and of every gap among them: each is what the
 * database itself says of its past. `MOMENT_RUNS` lives more of them.
 */
let bench: BackupBench;
let owner: pg.Client;
const name = { project: 'shop', database: '(default)' };
const pitr = () => `/projects/${bench.shop.projectId}/pitr`;
const together = ['pairs/1', 'pairs/2', 'pairs/3', 'pairs/4'];
const runs = Number(process.env.MOMENT_RUNS ?? 0);
const momentsPerRun = runs > 0 ? 30 : 12;
const collections = ['users', 'rooms', 'pairs'];
/** Between two marks the version before may be shown, and a deletion be told later. Steps lie five seconds apart. */
const blurMicros = 1_500_000n;
/** What changes in an interruption of up to ten seconds, which is no gap, is known as of its end. */
const briefMicros = 10_500_000n;
const interruptions: bigint[] = [];
const stepMs = 5000;

beforeAll(async () => {
  ({ bench, owner } = await startPitrBench());
  await write(...together, 'users/ada', 'rooms/1');
  await call('POST', `${pitr()}/enable`, { retentionDays: 1 });
  await settled();
});
afterAll(async () => {
  await owner.end();
  await bench.close();
});

async function call(method: string, path: string, body?: object) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body.data;
}
const until = (isSo: () => Promise<boolean>) => vi.waitUntil(isSo, { timeout: 60_000, interval: 50 });

let count = 0;
let lastWrite = '';
async function write(...paths: string[]): Promise<void> {
  count += 1;
  const batch = bench.firestore.batch();
  for (const path of paths)
    batch.set(bench.firestore.doc(path), { n: count, [`t${count % 3}`]: count % 2 ? count : `${count}` });
  noteWrite(await batch.commit());
}
function noteWrite([result]: { writeTime: Timestamp }[]): void {
  if (result) lastWrite = instantFromParts(result.writeTime.seconds, result.writeTime.nanoseconds);
}

/** Everything that was written is captured, and some seconds pass. */
async function settled(): Promise<void> {
  const { enabled } = await call('GET', pitr());
  if (enabled) {
    await write('users/clock');
    await until(async () => (parseInstant((await call('GET', pitr())).coveredTo ?? '') ?? '') > lastWrite);
  }
  pass(stepMs);
}
function pass(ms: number): void {
  bench.sandbox.control.moveClock(name, ms);
  bench.app.clock.advance(ms);
}

const path = fc.constantFrom('users/ada', 'users/bob', 'users/bob/rooms/9', 'rooms/1', 'rooms/2');
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('write' as const), paths: fc.uniqueArray(path, { minLength: 1 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('together' as const), times: fc.integer({ min: 1, max: 5 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('burst' as const), path, times: fc.integer({ min: 2, max: 40 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('off and on' as const), ms: fc.integer({ min: 0, max: 30_000 }), path }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), path }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('cut' as const), path, ms: fc.integer({ min: 0, max: 20_000 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'rotate' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'tidy' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('back up' as const),
      type: fc.constantFrom('full', 'incremental', 'synthetic'),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

async function carryOut(one: Step): Promise<void> {
  if (['kill', 'cut', 'off and on'].includes(one.do)) interruptions.push(microsOf(lastWrite));
  const { app, firestore, sandbox } = bench;
  if (one.do === 'write') await write(...one.paths);
  else if (one.do === 'delete') noteWrite([await firestore.doc(one.path).delete()]);
  else if (one.do === 'together') for (let time = 0; time < one.times; time++) await write(...together);
  else if (one.do === 'burst') for (let time = 0; time < one.times; time++) await write(one.path);
  else if (one.do === 'rotate') await call('POST', '/organizations/current/encryption-key/rotate', {});
  else if (one.do === 'back up') await bench.run({ type: one.type });
  else if (one.do === 'tidy')
    for (const task of ['pitr bases', 'pitr retention', 'pitr upkeep']) await app.tasks.runNow(task);
  else if (one.do === 'kill') {
    await owner.query('update pitr_logs set epoch = epoch + 1, holder = null');
    await write(one.path, ...together);
  } else if (one.do === 'cut') {
    sandbox.control.addFault({ method: 'Listen', status: 'UNAVAILABLE' });
    await owner.query('update pitr_logs set epoch = epoch + 1, holder = null');
    await write(one.path);
    pass(one.ms);
    noteWrite([await firestore.doc(one.path).delete()]);
    sandbox.control.clearFaults();
    await owner.query('update pitr_logs set retry_at = null');
  } else {
    await call('POST', `${pitr()}/disable`, {});
    await until(async () => (await owner.query('select holder from pitr_logs')).rows[0].holder === null);
    await write(one.path);
    pass(one.ms);
    noteWrite([await firestore.doc(one.path).delete()]);
    await call('POST', `${pitr()}/enable`, {});
  }
  await settled();
}

const microsOf = (instant: string) => {
  const { seconds, nanos } = instantToParts(parseInstant(instant)!);
  return BigInt(seconds) * 1_000_000n + BigInt(Math.floor(nanos / 1000));
};
const instantOf = (micros: bigint) => instantFromParts(Number(micros / 1_000_000n), Number(micros % 1_000_000n) * 1000);

/** What the database itself says of an instant: the version of every document. */
async function past(micros: bigint): Promise<Map<string, string>> {
  const readTime = new Timestamp(Number(micros / 1_000_000n), Number(micros % 1_000_000n) * 1000);
  return bench.firestore.runTransaction(
    async (transaction) => {
      const found = new Map<string, string>();
      for (const id of collections)
        for (const document of (await transaction.get(bench.firestore.collectionGroup(id))).docs)
          found.set(document.ref.path, instantFromParts(document.updateTime.seconds, document.updateTime.nanoseconds));
      return found;
    },
    { readOnly: true, readTime },
  );
}

async function shownAt(instant: string): Promise<Map<string, string> | string> {
  const answer = await bench.app.request('GET', `/api/v1${pitr()}/view/export?at=${instant}`, bench.as);
  if (answer.status !== 200) return answer.text;
  const lines = answer.text.split('\n').filter((line) => line !== '');
  return new Map(
    lines
      .map((line) => JSON.parse(line))
      .map((one) => [one.name.split('/documents/')[1], parseInstant(one.updateTime)!]),
  );
}

/** Undefined, or what is wrong with what is shown. */
async function faultAt(micros: bigint, shown: Map<string, string>): Promise<string | undefined> {
  const exact = await past(micros);
  const paths = [...new Set([...exact.keys(), ...shown.keys()])].filter((one) => exact.get(one) !== shown.get(one));
  const written = new Set(together.map((one) => shown.get(one)));
  if (written.size !== 1) return `half of what was written together: ${[...written]}`;
  if (paths.length === 0) return undefined;
  const isBrief = interruptions.some(
    (since) => since <= micros && micros <= since + briefMicros + BigInt(stepMs) * 1000n,
  );
  const blur = isBrief ? briefMicros : blurMicros;
  const before = await past(micros - blur);
  const after = await past(micros + blur).catch(() => exact);
  const wrong = paths.filter((one) => {
    const isQuiet = before.get(one) === exact.get(one) && after.get(one) === exact.get(one);
    const version = shown.get(one);
    const isNear = version === undefined || microsOf(version) >= micros - blur || before.get(one) === version;
    return isQuiet || !isNear;
  });
  return wrong.length === 0
    ? undefined
    : wrong.map((one) => `${one}: ${shown.get(one)} instead of ${exact.get(one)}`).join(', ');
}

const tally = { exact: 0, refused: 0, gaps: 0 };
async function faults(shares: readonly number[]): Promise<string[]> {
  const { coveredFrom, coveredTo, gaps } = await call('GET', pitr());
  const [from, to] = [microsOf(coveredFrom), microsOf(coveredTo)];
  const held: { from: bigint; to: bigint }[] = gaps.map((gap: { from: string; to: string }) => ({
    from: microsOf(gap.from),
    to: microsOf(gap.to),
  }));
  const edges = [from, to, ...held.flatMap((gap) => [gap.from, gap.to])].flatMap((edge) => [
    edge - 1n,
    edge,
    edge + 1n,
  ]);
  const middles = held.map((gap) => (gap.from + gap.to) / 2n);
  const inside = shares.map((share) => from + BigInt(Math.floor(Number(to - from) * share)));
  const found: string[] = [];
  tally.gaps = held.length;
  for (const micros of [...edges, ...middles, ...inside]) {
    const shown = await shownAt(instantOf(micros));
    const isCovered = from <= micros && micros <= to && !held.some((gap) => gap.from <= micros && micros <= gap.to);
    if (typeof shown === 'string') {
      tally.refused += 1;
      if (isCovered || !shown.includes('POINT_IN_TIME_UNAVAILABLE'))
        found.push(`${instantOf(micros)} is refused: ${shown}`);
      continue;
    }
    tally.exact += 1;
    const fault = await faultAt(micros, shown);
    if (fault) found.push(`${instantOf(micros)} shows ${fault}`);
  }
  return found;
}

test('every moment that is said to be covered is what the database was then, and no other is shown wrong', {
  timeout: runs > 0 ? 3_600_000 : 120_000,
}, async () => {
  const shares = fc.array(
    fc.integer({ min: 0, max: 999_999 }).map((part) => part / 1_000_000),
    {
      minLength: momentsPerRun,
      maxLength: momentsPerRun,
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: runs > 0 ? 10 : 4 }), shares, async (steps, some) => {
      for (const one of steps) await carryOut(one);
      expect(await faults(some), JSON.stringify(await call('GET', pitr()))).toEqual([]);
    }),
    { ...(runs > 0 ? { numRuns: runs } : { numRuns: 1, seed: 20_261_118 }), endOnFailure: true },
  );
  if (runs > 0) console.log(JSON.stringify(tally));
});
