import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fillFast } from '../sample-data/fill-fast.ts';
import { type FirestoreSandbox, startFirestoreSandbox } from './server.ts';
import { database, fields, name, query, root, set, setWrite } from './testing/fixtures.ts';
import { RawClient } from './testing/raw-client.ts';
import type { CodeName } from './transport/status.ts';

let sandbox: FirestoreSandbox;
let client: RawClient;

beforeEach(async () => {
  sandbox = await startFirestoreSandbox();
  client = new RawClient(sandbox.port);
});

afterEach(async () => {
  client.close();
  await sandbox.stop();
});

const whole = { from: [{ collectionId: 'plain' }] };

test.each<CodeName>([
  'ABORTED',
  'RESOURCE_EXHAUSTED',
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'PERMISSION_DENIED',
  'UNAUTHENTICATED',
])('%s strikes the chosen RPC as often as asked and nothing else', async (status) => {
  sandbox.control.addFault({ method: 'Commit', status, times: 2 });
  await query(client, { from: [{ collectionId: 'a' }] });
  await expect(set(client, 'a/1', fields({ n: 1 }))).rejects.toThrow(status);
  await expect(set(client, 'a/1', fields({ n: 1 }))).rejects.toThrow(status);
  await set(client, 'a/1', fields({ n: 1 }));
  expect(sandbox.control.faultHits()).toEqual([2]);
});

test('faults by probability are the same again for the same seed', async () => {
  const pattern = async (): Promise<string> => {
    sandbox.control.clearFaults();
    sandbox.control.seedFaults(7);
    sandbox.control.addFault({ method: 'Commit', status: 'UNAVAILABLE', probability: 0.5 });
    let outcome = '';
    for (let n = 0; n < 20; n++)
      outcome += await set(client, `a/${n}`, fields({ n })).then(
        () => '.',
        () => 'x',
      );
    return outcome;
  };
  const first = await pattern();
  expect(first).toMatch(/x/);
  expect(first).toMatch(/\./);
  expect(await pattern()).toBe(first);
});

test('latency delays a call', async () => {
  sandbox.control.addFault({ method: 'RunQuery', latencyMs: 150 });
  const startedAtMs = performance.now();
  await query(client, whole);
  expect(performance.now() - startedAtMs).toBeGreaterThan(140);
});

test('a call past its deadline ends with DEADLINE_EXCEEDED', async () => {
  sandbox.control.addFault({ method: 'RunQuery', latencyMs: 5000 });
  client.timeout = '50m';
  await expect(query(client, whole)).rejects.toThrow('DEADLINE_EXCEEDED');
});

describe('broken streams', () => {
  beforeEach(() => fillFast(sandbox.control.database(name), { collection: 'plain', documents: 2000 }));

  test('end with a status after n documents', async () => {
    sandbox.control.addFault({ method: 'RunQuery', breakAfterDocuments: 1234, status: 'DEADLINE_EXCEEDED', times: 1 });
    let received = 0;
    const conversation = client.converse('RunQuery', () => {
      received += 1;
    });
    conversation.send({ parent: root, structuredQuery: whole });
    conversation.end();
    await expect(conversation.done).rejects.toThrow('DEADLINE_EXCEEDED');
    expect(received).toBe(1234);
    expect(await query(client, whole)).toHaveLength(2000);
  });

  test('or just break, without a status', async () => {
    sandbox.control.addFault({ method: 'RunQuery', breakAfterDocuments: 10, reset: true, times: 1 });
    await expect(query(client, whole)).rejects.toThrow('without a status');
  });

  test('are slowed down batch by batch', async () => {
    sandbox.control.addFault({ method: 'RunQuery', batchLatencyMs: 4 });
    const startedAtMs = performance.now();
    await query(client, whole);
    // 1.2 MB are some seventy batches of 16 KiB.
    expect(performance.now() - startedAtMs).toBeGreaterThan(240);
  });
});

test('a commit can take effect and lose its answer', async () => {
  sandbox.control.addFault({ method: 'Commit', afterEffect: true, status: 'UNAVAILABLE', times: 1 });
  await expect(set(client, 'a/1', fields({ n: 1 }))).rejects.toThrow('UNAVAILABLE');
  expect(await query(client, { from: [{ collectionId: 'a' }] })).toEqual(['a/1']);
});

test('one write of a batch fails with its own status, and the others are made', async () => {
  sandbox.control.addFault({ method: 'BatchWrite', document: 'q/1', status: 'ABORTED', times: 1 });
  const writes = [0, 1, 2].map((n) => setWrite(`q/${n}`, fields({ n })));
  const codes = async () => {
    const { status } = await client.unary('BatchWrite', { database: database, writes });
    return status.map((each: { code: number }) => each.code);
  };
  expect(await codes()).toEqual([0, 10, 0]);
  expect(await query(client, { from: [{ collectionId: 'q' }] })).toEqual(['q/0', 'q/2']);
  expect(await codes()).toEqual([0, 0, 0]);
});

test('above the write quota, commits fail whole and batches in part', async () => {
  sandbox.control.setWriteQuota({ documentsPerSecond: 10 });
  const writes = Array.from({ length: 15 }, (_, index) => setWrite(`q/${index}`, fields({ n: index })));
  const { status } = await client.unary('BatchWrite', { database: database, writes });
  const codes = status.map((each: { code: number }) => each.code);
  expect(codes.filter((code: number) => code === 0)).toHaveLength(10);
  expect(codes.filter((code: number) => code === 8)).toHaveLength(5);
  await expect(client.unary('Commit', { database: database, writes })).rejects.toThrow('RESOURCE_EXHAUSTED');
});

describe('access', () => {
  test('reads and writes can be denied separately, per project and token', async () => {
    sandbox.control.deny({ project: 'demo', access: 'write', token: 'reader' });
    client.token = 'reader';
    await expect(set(client, 'a/1', fields({ n: 1 }))).rejects.toThrow('PERMISSION_DENIED: Missing or insufficient');
    await query(client, whole);
    client.token = 'writer';
    await set(client, 'a/1', fields({ n: 1 }));
    sandbox.control.deny({ project: 'demo', database: '(default)' });
    await expect(query(client, whole)).rejects.toThrow('PERMISSION_DENIED');
    sandbox.control.clearAccess();
    await query(client, whole);
  });

  test('an expired token is unauthenticated', async () => {
    client.token = 'old';
    await query(client, whole);
    sandbox.control.expireToken('old');
    await expect(query(client, whole)).rejects.toThrow('UNAUTHENTICATED');
    await expect(set(client, 'a/1', fields({ n: 1 }))).rejects.toThrow('UNAUTHENTICATED');
  });

  test('an authorize function has the last word', async () => {
    const strict = await startFirestoreSandbox({
      strictDatabases: true,
      authorize: (token, _database, access) => {
        if (token !== 'good') return 'unauthenticated';
        return access === 'write' ? 'deny' : 'allow';
      },
    });
    const caller = new RawClient(strict.port);
    await expect(query(caller, whole)).rejects.toThrow('UNAUTHENTICATED');
    caller.token = 'good';
    await expect(query(caller, whole)).rejects.toThrow(/NOT_FOUND.*does not exist/);
    strict.control.createDatabase(name);
    await query(caller, whole);
    await expect(set(caller, 'a/1', fields({ n: 1 }))).rejects.toThrow('PERMISSION_DENIED');
    caller.close();
    await strict.stop();
  });
});

test('counters show what the traffic would cost', async () => {
  fillFast(sandbox.control.database(name), { collection: 'plain', documents: 1500 });
  await set(client, 'a/1', fields({ n: 1 }));
  await client.unary('Commit', { database: database, writes: [{ delete: `${root}/a/1` }] });
  await query(client, whole);
  await query(client, { from: [{ collectionId: 'nothing' }] });
  await client.stream('RunAggregationQuery', {
    parent: root,
    structuredAggregationQuery: { structuredQuery: whole, aggregations: [{ alias: 'n', count: {} }] },
  });
  const counters = sandbox.control.counters();
  expect(counters).toMatchObject({ reads: 1500 + 1 + 2, writes: 1, deletes: 1 });
  expect(counters.methods.RunQuery).toMatchObject({ calls: 2, errors: 0, documents: 1500 });
  expect(counters.methods.RunQuery!.bytesSent).toBeGreaterThan(1500 * 600);
});
