import { type ClientHttp2Session, connect } from 'node:http2';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fillFast } from '../sample-data/fill-fast.ts';
import { fields, name, root, set } from './testing/fixtures.ts';
import { type SandboxWithClient, startWithClient } from './testing/start-with-client.ts';
import { encodeDouble, nullValue } from './values/encode.ts';
import { isoFrom } from './values/timestamp.ts';

let sandbox: SandboxWithClient['sandbox'];
let client: SandboxWithClient['client'];
let stop: SandboxWithClient['stop'];

beforeEach(async () => {
  ({ sandbox, client, stop } = await startWithClient());
});
afterEach(() => stop());

const packed = { 'accept-encoding': 'gzip', 'user-agent': 'test (gzip)' };
const namesOf = (collectionId: string) => ({
  structuredQuery: { from: [{ collectionId }], select: { fields: [{ fieldPath: '__name__' }] } },
});

/** Over HTTP/1.1, which unpacks by itself. */
function ask(body: unknown, { parent = root, ...headers }: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://${sandbox.address}/v1/${parent}:runQuery?$alt=json;enum-encoding=int`, {
    method: 'POST',
    headers: { authorization: 'Bearer owner', 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

interface Answer {
  readonly status: number;
  readonly encoding: string | undefined;
  readonly bytes: Buffer;
  /** The stream came to its end. */
  readonly isWhole: boolean;
}

/** Over HTTP/2, with the raw bytes. */
async function askHttp2(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const session: ClientHttp2Session = connect(`http://${sandbox.address}`);
  const stream = session.request({ ':method': 'POST', ':path': `/v1/${encodeURI(root)}:runQuery`, ...headers });
  let answered: Record<string, unknown> = {};
  const chunks: Buffer[] = [];
  let isWhole = false;
  stream.on('response', (head) => {
    answered = head;
  });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => {
    isWhole = true;
  });
  stream.on('error', () => undefined);
  stream.end(JSON.stringify(body));
  await new Promise((resolve) => stream.once('close', resolve));
  session.close();
  const encoding = answered['content-encoding'] as string | undefined;
  return { status: Number(answered[':status']), encoding, bytes: Buffer.concat(chunks), isWhole: isWhole };
}

describe('a query over REST', () => {
  test('answers what gRPC answers, as a JSON array, over both versions of HTTP', async () => {
    await set(client, 'a/1', fields({ text: 'ü"\\\n', n: 7, nothing: nullValue, big: 2 ** 53 - 1 }));
    await set(client, 'a/2', fields({ odd: encodeDouble(Number.NaN), zero: encodeDouble(-0), 1: 'one' }));
    const query = { structuredQuery: { from: [{ collectionId: 'a' }] } };
    const whole = await (await ask(query)).text();
    expect(JSON.parse(whole)).toMatchObject([
      {
        document: {
          name: `${root}/a/1`,
          fields: {
            text: { stringValue: 'ü"\\\n' },
            n: { integerValue: '7' },
            nothing: { nullValue: null },
            big: { integerValue: '9007199254740991' },
          },
          createTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?Z$/),
        },
        readTime: expect.any(String),
      },
      { document: { fields: { odd: { doubleValue: 'NaN' }, zero: { doubleValue: -0 }, 1: { stringValue: 'one' } } } },
    ]);
    const { status, encoding, bytes } = await askHttp2(query);
    expect({ status, encoding }).toEqual({ status: 200, encoding: undefined });
    const timeless = (text: string) => text.replaceAll(/"readTime":"[^"]*"/g, '');
    expect(timeless(bytes.toString())).toBe(timeless(whole));
  });

  test('finds by filters, cursors, limits and read times as they are written in JSON', async () => {
    let written = 0;
    for (let n = 0; n < 9; n += 1) written = await set(client, `a/${n}`, fields({ n }));
    const readTime = isoFrom(written);
    await set(client, 'a/9', fields({ n: 9 }));
    const where = { fieldFilter: { field: { fieldPath: 'n' }, op: 'GREATER_THAN', value: { integerValue: '2' } } };
    const startAt = { values: [{ integerValue: 5 }], before: false };
    const orderBy = [{ field: { fieldPath: 'n' }, direction: 'ASCENDING' }];
    const query = { from: [{ collectionId: 'a' }], where, orderBy, startAt, limit: 2 };
    const found = (await (await ask({ structuredQuery: query })).json()) as { document: { name: string } }[];
    expect(found.map(({ document }) => document.name)).toEqual([`${root}/a/6`, `${root}/a/7`]);
    const past = (await (await ask({ ...namesOf('a'), readTime })).json()) as object[];
    expect(past).toHaveLength(9);
  });

  test('is compressed as a whole for clients that ask for it in both ways that Google wants', async () => {
    fillFast(sandbox.control.database(name), { collection: 'a', documents: 3_000 });
    const plain = await askHttp2(namesOf('a'));
    const half = await askHttp2(namesOf('a'), { 'accept-encoding': 'gzip' });
    sandbox.control.resetCounters();
    const whole = await askHttp2(namesOf('a'), packed);
    expect([plain.encoding, half.encoding, whole.encoding]).toEqual([undefined, undefined, 'gzip']);
    expect(JSON.parse(gunzipSync(whole.bytes).toString())).toHaveLength(3_000);
    expect(whole.bytes.length).toBeLessThan(plain.bytes.length / 10);
    expect(sandbox.control.counters().methods.RunQuery).toMatchObject({
      calls: 1,
      documents: 3_000,
      bytesSent: whole.bytes.length,
    });
  });

  test('waits for a slow reader', { tags: 'long' }, async () => {
    fillFast(sandbox.control.database(name), { collection: 'a', documents: 60_000 });
    const response = await ask({ structuredQuery: { from: [{ collectionId: 'a' }] } });
    await new Promise((resolve) => setTimeout(resolve, 300));
    // A query is counted when all of it was sent.
    expect(sandbox.control.counters().methods.RunQuery!.documents).toBe(0);
    expect(await response.json()).toHaveLength(60_000);
    expect(sandbox.control.counters().methods.RunQuery!.documents).toBe(60_000);
  });
});

describe('a query over REST that fails', () => {
  test('reports the status of HTTP and of gRPC, as the only element', async () => {
    sandbox.control.deny({ project: 'demo' });
    const denied = await ask(namesOf('a'));
    expect(denied.status).toBe(403);
    expect(await denied.json()).toEqual([
      { error: { code: 403, status: 'PERMISSION_DENIED', message: 'Missing or insufficient permissions.' } },
    ]);
    sandbox.control.clearAccess();
    sandbox.control.addFault({ method: 'RunQuery', status: 'RESOURCE_EXHAUSTED', times: 1 });
    const exhausted = await askHttp2(namesOf('a'), packed);
    expect(exhausted).toMatchObject({ status: 429, encoding: 'gzip' });
    expect(gunzipSync(exhausted.bytes).toString()).toContain('RESOURCE_EXHAUSTED');
    expect(sandbox.control.counters().methods.RunQuery).toMatchObject({ calls: 2, errors: 2 });
  });

  test.each([
    ['no JSON', '{"structuredQuery"'],
    ['an unknown field', { structuredQueri: {} }],
    ['a time that is none', { ...namesOf('a'), readTime: 'yesterday' }],
    ['no query', {}],
  ])('with %s is the caller’s mistake', async (_, body) => {
    const response = await ask(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject([{ error: { status: 'INVALID_ARGUMENT' } }]);
  });

  test('in the middle ends with the error as its last element', async () => {
    fillFast(sandbox.control.database(name), { collection: 'a', documents: 1_000 });
    sandbox.control.addFault({ method: 'RunQuery', breakAfterDocuments: 100, status: 'UNAVAILABLE' });
    const { status, bytes } = await askHttp2(namesOf('a'), packed);
    const elements = JSON.parse(gunzipSync(bytes).toString()) as { error?: object }[];
    expect(status).toBe(200);
    expect(elements).toHaveLength(101);
    expect(elements.at(-1)).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } });
  });

  test('by a lost connection stops there, and everything sent before arrives', async () => {
    fillFast(sandbox.control.database(name), { collection: 'a', documents: 1_000 });
    sandbox.control.addFault({ method: 'RunQuery', breakAfterDocuments: 100, reset: true });
    const { bytes, isWhole } = await askHttp2(namesOf('a'), packed);
    expect(isWhole).toBe(false);
    expect(bytes.length).toBeGreaterThan(0);
    await expect(ask(namesOf('a')).then((response) => response.text())).rejects.toThrow();
  });
});
