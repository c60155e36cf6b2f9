import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fillFast } from '../../../../sandbox/index.ts';
import { everything, isEngineError, type Scope, wholeDatabase } from '../../../ports/index.ts';
import type { ConnectedFirestore } from '../connect.ts';
import {
  collect,
  type FirestoreHarness,
  fields,
  type Stored,
  scanAll,
  startFirestoreHarness,
  write,
} from '../testing/firestore-harness.ts';
import { packedJson, type RestCallSeen, respond, respondPacked, startRestGateway } from '../testing/rest-gateway.ts';

const documents = 12_000;
const big = { project: 'big', database: '(default)' };
let harness: FirestoreHarness;
let truth: readonly Stored[];

beforeAll(async () => {
  harness = await startFirestoreHarness();
  fillFast(harness.sandbox.control.database(big), { collection: 'items', documents });
  truth = await namesOverGrpc(harness.connect({ projectId: 'big' }));
});
afterAll(() => harness.stop());
afterEach(() => {
  harness.sandbox.control.clearFaults();
  harness.sandbox.control.clearAccess();
});

const names = (connected: ConnectedFirestore, more: { scope?: Scope } = {}) =>
  scanAll(connected, { namesOnly: true, ...more });

async function namesOverGrpc(connected: ConnectedFirestore): Promise<Stored[]> {
  connected.source.client.rest.giveUp();
  return await names(connected);
}

/** A connection to `big` through something that spoils what comes over REST. */
async function spoiled(onRest: (call: RestCallSeen) => void | Promise<void>) {
  const gateway = await startRestGateway(harness.sandbox.address, onRest);
  const connected = harness.connect({ projectId: 'big', connection: { type: 'emulator', host: gateway.address } });
  return { gateway, connected, rest: connected.source.client.rest };
}

/** Everything that was to come came once, in order, to the byte. */
function expectTruth(stored: readonly Stored[]): void {
  expect(stored.length).toBe(truth.length);
  expect(stored.map(({ path, body }) => `${path} ${body.toString('hex')}`)).toEqual(
    truth.map(({ path, body }) => `${path} ${body.toString('hex')}`),
  );
}

describe('names over REST', () => {
  test('are the very bytes that gRPC brings, whatever characters they have', async () => {
    const paths = [
      '"quoted"',
      'back\\slash',
      'new\nline',
      'tab\t',
      'ü',
      '😀',
      '\uffee',
      '\u2028',
      '{"a":[',
      '__id7__',
      '__id-3__',
      'a%2Fb',
      'a b?c#d:e',
      '\u007f',
    ];
    const connected = harness.connect({ projectId: 'odd' });
    const all = paths.flatMap((id) => [`odd/${id}`, `odd/${id}/${id}-below/${id}`]);
    for (const [index, path] of all.entries()) await write(connected, [{ path, fields: fields(index) }]);
    // Created and changed at two times.
    await write(connected, [{ path: all[3]!, fields: fields(99) }]);
    for (const scope of [wholeDatabase, { ...wholeDatabase, collections: ['odd'], includeSubcollections: false }]) {
      const overRest = await names(connected, { scope });
      expect(connected.source.client.rest.isGivenUp).toBe(false);
      const other = harness.connect({ projectId: 'odd' });
      other.source.client.rest.giveUp();
      const overGrpc = await names(other, { scope });
      expect(overRest).toEqual(overGrpc);
      expect(overRest.length).toBe(scope === wholeDatabase ? all.length : paths.length);
    }
  });

  test('come from below a document with an awkward name too', async () => {
    const connected = harness.connect({ projectId: 'below' });
    const collection = 'odd/a b%2F?"\\😀:x/below';
    await write(connected, [{ path: `${collection}/1`, fields: fields(1) }]);
    const scope = { collections: [collection], includeSubcollections: false, excludeCollections: [] };
    expect((await names(connected, { scope })).map(({ path }) => path)).toEqual([`${collection}/1`]);
    expect(connected.source.client.rest.isGivenUp).toBe(false);
  });

  test('cost a fraction of the bytes, which are counted as they came, and a read for each document', async () => {
    const connected = harness.connect({ projectId: 'big' });
    const readTime = await connected.source.snapshotTime();
    const before = { ...connected.source.usage };
    harness.sandbox.control.resetCounters();
    expectTruth(await scanAll(connected, { readTime, namesOnly: true }));
    const { documentsRead, bytesReceived } = connected.source.usage;
    expect(documentsRead - before.documentsRead).toBe(documents);
    expect(bytesReceived - before.bytesReceived).toBe(harness.sandbox.control.counters().methods.RunQuery!.bytesSent);
    expect(bytesReceived - before.bytesReceived).toBeLessThan(documents * 20);
  });

  test('are asked for with the credentials and the routing of gRPC, and in the words that make Google compress', async () => {
    let seen: RestCallSeen['headers'] = {};
    const { connected } = await spoiled(async ({ stream, headers, answer }) => {
      seen = headers;
      respondPacked(stream, await answer());
    });
    expectTruth(await names(connected));
    expect(seen).toMatchObject({
      ':method': 'POST',
      ':path': '/v1/projects/big/databases/(default)/documents:runQuery?prettyPrint=false',
      authorization: 'Bearer owner',
      'google-cloud-resource-prefix': 'projects/big/databases/(default)',
      'x-goog-request-params': `parent=${encodeURIComponent('projects/big/databases/(default)/documents')}`,
      'accept-encoding': 'gzip',
      'user-agent': expect.stringContaining('gzip'),
    });
  });

  test('are asked for in pages under a read rate', { tags: 'long' }, async () => {
    const limited = harness.connect({ projectId: 'big', readRateLimit: 2_000 });
    harness.sandbox.control.resetCounters();
    const startedMs = performance.now();
    expectTruth(await names(limited));
    expect(performance.now() - startedMs).toBeGreaterThan(900);
    expect(harness.sandbox.control.counters().methods.RunQuery!.calls).toBeGreaterThanOrEqual(3);
    expect(limited.source.client.rest.isGivenUp).toBe(false);
  });

  test('wait for a reader that stops: what is under way stays bounded, down to the socket', {
    tags: 'long',
  }, async () => {
    const many = 20_000;
    let sentBytes = 0;
    const { connected } = await spoiled(({ stream }) => {
      stream.respond({ ':status': 200, ...packedJson });
      // What does not compress fills the windows soon.
      const element = (_: unknown, index: number) =>
        JSON.stringify({ document: { name: nameOf(index) }, junk: randomBytes(1_000).toString('base64') });
      const pack = createGzip();
      pack.on('data', (chunk: Buffer) => {
        sentBytes += chunk.length;
      });
      Readable.from([`[${Array.from({ length: many }, element).join(',')}]`])
        .pipe(pack)
        .pipe(stream);
    });
    const nameOf = (index: number) => `${connected.source.database}/documents/items/d${1e9 + index}`;
    const readTime = await connected.source.snapshotTime();
    const options = { scope: wholeDatabase, readTime, namesOnly: true };
    const scan = connected.source.scan(everything, options)[Symbol.asyncIterator]();
    const { value: first } = await scan.next();
    await sleep(500);
    expect(sentBytes).toBeLessThan(18_000_000);
    expect(connected.source.usage.documentsRead - first!.count).toBeLessThan(500);
    let count = first!.count;
    for (let next = await scan.next(); !next.done; next = await scan.next()) count += next.value.count;
    expect(sentBytes).toBeGreaterThan(20_000_000);
    expect(count).toBe(many);
  });

  test('stop at once when the scan is cancelled, or its reader leaves', async () => {
    const connected = harness.connect({ projectId: 'big' });
    const readTime = await connected.source.snapshotTime();
    harness.sandbox.control.addFault({ method: 'RunQuery', batchLatencyMs: 30_000 });
    const controller = new AbortController();
    const options = { scope: wholeDatabase, readTime, namesOnly: true, signal: controller.signal };
    const startedMs = performance.now();
    const scan = collect(connected.source.scan(everything, options));
    setTimeout(() => controller.abort(), 50);
    await expect(scan).rejects.toSatisfy((error) => isEngineError(error, 'CANCELLED'));
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    expect(connected.source.client.rest.isGivenUp).toBe(false);
  });
});

describe('through faults', () => {
  test.each([
    ['broken off by the server', { reset: true }],
    ['ended with UNAVAILABLE', { status: 'UNAVAILABLE' as const }],
    ['ended with RESOURCE_EXHAUSTED', { status: 'RESOURCE_EXHAUSTED' as const }],
    ['ended with INTERNAL', { status: 'INTERNAL' as const }],
  ])('an answer %s again and again is continued: no doubles, no holes', async (_, fault) => {
    const connected = harness.connect({ projectId: 'big' });
    harness.sandbox.control.addFault({ method: 'RunQuery', breakAfterDocuments: 321, ...fault });
    expectTruth(await names(connected));
    expect(harness.sandbox.control.faultHits()[0]).toBeGreaterThan(10);
    expect(connected.source.client.rest.isGivenUp).toBe(false);
  });

  test.each(['RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'UNAUTHENTICATED'] as const)(
    'a refusal with %s before the first name is waited out, and REST goes on',
    async (status) => {
      const connected = harness.connect({ projectId: 'big' });
      const readTime = await connected.source.snapshotTime();
      harness.sandbox.control.addFault({ method: 'RunQuery', status, times: 1 });
      expectTruth(await scanAll(connected, { readTime, namesOnly: true }));
      expect(connected.source.client.rest.isGivenUp).toBe(false);
    },
  );

  test('a refusal is told apart from an outage, a quota and a time out of reach', async () => {
    for (const [status, code] of [
      ['PERMISSION_DENIED', 'SOURCE_AUTH_ERROR'],
      ['UNAUTHENTICATED', 'SOURCE_AUTH_ERROR'],
      ['UNAVAILABLE', 'SOURCE_UNAVAILABLE'],
      ['RESOURCE_EXHAUSTED', 'SOURCE_QUOTA_EXCEEDED'],
      ['NOT_FOUND', 'SOURCE_NOT_FOUND'],
      ['INVALID_ARGUMENT', 'VALIDATION_ERROR'],
    ] as const) {
      harness.sandbox.control.clearFaults();
      const connected = harness.connect({ projectId: 'big' });
      const readTime = await connected.source.snapshotTime();
      harness.sandbox.control.addFault({ method: 'RunQuery', status, message: 'no' });
      await expect(scanAll(connected, { readTime, namesOnly: true })).rejects.toMatchObject({ code });
    }
    harness.sandbox.control.clearFaults();
    const old = harness.connect({ projectId: 'old' });
    await write(old, [{ path: 'a/b', fields: fields(1) }]);
    const readTime = await old.source.snapshotTime();
    harness.sandbox.control.moveClock({ project: 'old', database: '(default)' }, 2 * 3_600_000);
    const scan = scanAll(old, { readTime, namesOnly: true });
    await expect(scan).rejects.toMatchObject({ code: 'SNAPSHOT_TOO_OLD' });
  });

  /** The server's answer, and what becomes of it on its way. Whole from the fourth request on. */
  const spoilings: [string, (stream: RestCallSeen['stream'], json: string) => void][] = [
    [
      'whose compression is cut, and that ends as if it were whole',
      (stream, json) => respond(stream, 200, packedJson, gzipSync(json).subarray(0, gzipSync(json).length / 3)),
    ],
    [
      'without the last bytes of its compression',
      (stream, json) => respond(stream, 200, packedJson, gzipSync(json).subarray(0, -4)),
    ],
    ['whose array is not closed', (stream, json) => respondPacked(stream, json.slice(0, json.lastIndexOf(']')))],
    ['that ends in the middle of a name', (stream, json) => respondPacked(stream, json.slice(0, json.length * 0.6))],
    [
      'that ends between two documents',
      (stream, json) => respondPacked(stream, json.slice(0, json.indexOf('},', json.length / 2) + 1)),
    ],
    [
      'with an error of a proxy at its end',
      (stream, json) => respondPacked(stream, `${json.slice(0, json.indexOf('\n', 200_000))}<html>`),
    ],
    [
      'with an error that says nothing',
      (stream, json) => respondPacked(stream, `${json.slice(0, json.lastIndexOf(']'))},{"error":{}}]`),
    ],
    [
      'of a connection that breaks',
      (stream, json) => {
        stream.respond({ ':status': 200, ...packedJson });
        const bytes = gzipSync(json);
        stream.write(bytes.subarray(0, bytes.length / 2), () => setTimeout(() => stream.session?.destroy(), 20));
      },
    ],
  ];

  test.each(spoilings)('an answer %s is asked for again from its last name', { tags: 'long' }, async (_, spoil) => {
    const { connected, gateway } = await spoiled(async ({ stream, before, answer }) => {
      const json = await answer();
      if (before < 3) spoil(stream, json);
      else respondPacked(stream, json);
    });
    expectTruth(await names(connected));
    expect(gateway.asked).toBeGreaterThan(1);
  });

  test.each([
    ['the half of its documents', (json: string) => `${json.slice(0, json.indexOf('},\n', json.length / 2) + 1)}]`],
    ['no documents', () => '[]'],
    ['nothing but a time', () => '[{"readTime":"2026-01-01T00:00:00Z"}]'],
  ])('an answer that is whole but holds %s is not believed: the rest comes over gRPC', async (_, shorten) => {
    const { connected, rest } = await spoiled(async ({ stream, answer }) =>
      respondPacked(stream, shorten(await answer())),
    );
    expectTruth(await names(connected));
    expect(rest.isGivenUp).toBe(true);
  });

  test('an error right behind the document that fills a batch loses nothing of that batch', {
    tags: 'long',
  }, async () => {
    const readTime = await harness.connect({ projectId: 'big' }).source.snapshotTime();
    const options = { scope: wholeDatabase, readTime, namesOnly: true };
    const [full] = await collect(harness.connect({ projectId: 'big' }).source.scan(everything, options));
    const { connected } = await spoiled(async ({ stream, before, answer }) => {
      const json = await answer();
      if (before > 0) return respondPacked(stream, json);
      const elements = JSON.parse(json).slice(0, full!.count + 1);
      elements.push({ error: { code: 503, status: 'UNAVAILABLE', message: 'later' } });
      respondPacked(stream, JSON.stringify(elements));
    });
    expect(full!.count).toBeLessThan(documents);
    expectTruth(await names(connected));
  });
});
