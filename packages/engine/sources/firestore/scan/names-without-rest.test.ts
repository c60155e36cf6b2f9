import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fillFast } from '../../../../sandbox/index.ts';
import { everything, wholeDatabase } from '../../../ports/index.ts';
import { FirestoreClient } from '../client.ts';
import { FirestoreSource } from '../source.ts';
import { collect, type FirestoreHarness, quickRetry, startFirestoreHarness } from '../testing/firestore-harness.ts';
import { packedJson, type RestCallSeen, respond, respondPacked, startRestGateway } from '../testing/rest-gateway.ts';
import { GrpcChannel } from '../transport/channel.ts';
import { emulatorCredentials } from '../transport/credentials.ts';

const documents = 3_000;
/** For servers that never answer. Others get the time that a busy machine needs. */
const impatientMs = 150;
const patientMs = 30_000;
let harness: FirestoreHarness;

beforeAll(async () => {
  harness = await startFirestoreHarness();
  fillFast(harness.sandbox.control.database({ project: 'big', database: '(default)' }), {
    collection: 'items',
    documents,
  });
});
afterAll(() => harness.stop());

type Behaviour = (call: RestCallSeen) => void | Promise<void>;

async function startBehind(onRest: Behaviour, answerTimeoutMs: number) {
  const gateway = await startRestGateway(harness.sandbox.address, onRest);
  const channel = new GrpcChannel({ origin: `http://${gateway.address}`, credentials: emulatorCredentials() });
  onTestFinished(() => channel.close());
  const database = 'projects/big/databases/(default)';
  const source = new FirestoreSource(
    new FirestoreClient({ channel, database, retry: quickRetry, restAnswerTimeoutMs: answerTimeoutMs }),
  );
  const countNames = async () => {
    const readTime = await source.snapshotTime();
    const batches = await collect(source.scan(everything, { scope: wholeDatabase, readTime, namesOnly: true }));
    return batches.reduce((sum, { count }) => sum + count, 0);
  };
  return { gateway, countNames, rest: source.client.rest };
}

const json = { 'content-type': 'application/json' };
const refusal = (code: number, status: string) => JSON.stringify([{ error: { code, status, message: 'no' } }]);

const others: [string, Behaviour][] = [
  ['answers without compression', async ({ stream, answer }) => respond(stream, 200, json, await answer())],
  ['answers with something else', ({ stream }) => respond(stream, 200, { 'content-type': 'text/html' }, '<html>')],
  [
    'answers with something else, compressed',
    ({ stream }) => respond(stream, 200, { ...packedJson, 'content-type': 'text/html' }, gzipSync('<html>')),
  ],
  ['says that it is JSON, and it is none', ({ stream }) => respondPacked(stream, '<html>')],
  ['says that it is compressed, and it is not', ({ stream }) => respond(stream, 200, packedJson, '[{}]')],
  ['answers with an object', ({ stream }) => respondPacked(stream, '{"documents":[]}')],
  ['answers with documents that have no names', ({ stream }) => respondPacked(stream, '[{"document":{"id":"a"}}]')],
  ['knows no such path', ({ stream }) => respond(stream, 404, {}, 'not found')],
  ['knows no such path, in Google’s words', ({ stream }) => respond(stream, 404, json, refusal(404, 'NOT_FOUND'))],
  ['does not offer it', ({ stream }) => respond(stream, 501, json, refusal(501, 'UNIMPLEMENTED'))],
  ['forbids it', ({ stream }) => respond(stream, 403, json, refusal(403, 'PERMISSION_DENIED'))],
  ['takes no such request', ({ stream }) => respond(stream, 400, json, refusal(400, 'INVALID_ARGUMENT'))],
  [
    'has a gateway without a way to it',
    ({ stream }) => respond(stream, 502, { 'content-type': 'text/html' }, '<html>'),
  ],
  ['wants an older HTTP', ({ stream }) => stream.close(13)],
  [
    'wants gRPC on this port',
    ({ stream }) =>
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true }),
  ],
  ['answers with nothing', ({ stream }) => respond(stream, 200, packedJson, '')],
  ['never answers', () => undefined],
  ['begins to answer and never goes on', ({ stream }) => stream.respond({ ':status': 200, ...packedJson })],
  ['never ends to say no', ({ stream }) => void stream.respond({ ':status': 404 })],
  [
    'unpacks into spaces without end',
    ({ stream }) => respond(stream, 200, packedJson, gzipSync(`[${' '.repeat(50_000_000)}`)),
  ],
  [
    'unpacks into a refusal without end',
    ({ stream }) => respond(stream, 500, packedJson, gzipSync(' '.repeat(50_000_000))),
  ],
];

describe('a server that', () => {
  test.each(others)('%s is read over gRPC, from the first time on and without a second try', async (_, behaviour) => {
    const { gateway, countNames, rest } = await startBehind(behaviour, impatientMs);
    const startedMs = performance.now();
    expect(await countNames()).toBe(documents);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(rest.isGivenUp).toBe(true);
    expect(gateway.asked).toBe(1);
    expect(await countNames()).toBe(documents);
    expect(gateway.asked).toBe(1);
  });

  test('has answered and then brings nothing any more is given up after three times', async () => {
    const { gateway, countNames, rest } = await startBehind(async ({ stream, before, answer }) => {
      if (before === 0) respondPacked(stream, await answer());
      else respond(stream, 503, json, refusal(503, 'UNAVAILABLE'));
    }, patientMs);
    expect(await countNames()).toBe(documents);
    expect(gateway.asked).toBe(1);
    expect(rest.isGivenUp).toBe(false);
    expect(await countNames()).toBe(documents);
    expect(gateway.asked).toBe(4);
    expect(rest.isGivenUp).toBe(true);
  });

  test('is away for a moment is not taken for one without REST', async () => {
    const { countNames, rest } = await startBehind(async ({ stream, before, answer }) => {
      if (before < 2) respond(stream, 429, json, refusal(429, 'RESOURCE_EXHAUSTED'));
      else respondPacked(stream, await answer());
    }, patientMs);
    expect(await countNames()).toBe(documents);
    expect(rest.isGivenUp).toBe(false);
  });
});
