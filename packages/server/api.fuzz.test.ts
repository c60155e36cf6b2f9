import { Firestore } from '@google-cloud/firestore';
import { type Operation, servedOperations } from '@holdfast/contract';
import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiCase, caseOf } from './testing/fuzz/api-case.ts';
import { type ApiAnswer, faultOf } from './testing/fuzz/api-judge.ts';
import { type ApiWorld, createApiWorld } from './testing/fuzz/api-world.ts';
import { fuzzCases, fuzzSeed, fuzzTimeoutMs } from './testing/fuzz/settings.ts';
import { startTestApp, type TestApp } from './testing/test-app.ts';

/**
 * Calls every operation of the contract with valid, nearly valid and absurd data. Whatever is sent, the service does
 * not fail: the answer is always the envelope, has an error code that the operation declares, and matches its schema.
 */

const casesPerWorld = 200;
const casesAtOnce = 8;
const answerMs = 30_000;
const streamMs = 300;

let app: TestApp;
let firestore: FirestoreSandbox;

beforeAll(async () => {
  const nowhere = 'http://127.0.0.1:9';
  const googleApis = ['oauth2', 'firestore', 'firebase', 'cloudresourcemanager', 'identitytoolkit', 'storage'];
  const environment = {
    GOOGLE_API_ENDPOINTS: JSON.stringify(Object.fromEntries(googleApis.map((name) => [name, nowhere]))),
    JOB_ATTEMPTS: '1',
    SOURCE_RETRY_ATTEMPTS: '1',
    STORAGE_RETRY_ATTEMPTS: '1',
    LOG_LEVEL: 'warn',
  };
  app = await startTestApp(environment, { outbound: { resolve: async () => ['127.0.0.1'] } });
  firestore = await startFirestoreSandbox();
  await writeDocuments();
});
afterAll(async () => {
  await app.close();
  await firestore.stop();
});

async function writeDocuments(): Promise<void> {
  process.env.FIRESTORE_EMULATOR_HOST = firestore.address;
  const client = new Firestore({ projectId: 'shop' });
  for (const path of ['users/ada', 'users/ada/orders/1', 'orders/7', 'orders/8'])
    await client.doc(path).set({ name: 'Ada', at: path, count: 3 });
  await client.terminate();
  delete process.env.FIRESTORE_EMULATOR_HOST;
}

test(
  'any call with any data gets an answer that matches the contract',
  async () => {
    const seen = new Map<string, number>();
    const called = new Set<string>();
    const faults: string[] = [];
    const warned = (warning: Error) => void faults.push(`the process warned: ${warning.stack ?? warning.message}`);
    process.on('warning', warned);
    for (let first = 0; first < fuzzCases && faults.length < 20; first += casesPerWorld) {
      const world = await createApiWorld(app, firestore);
      const count = Math.min(casesPerWorld, fuzzCases - first);
      const cases = Array.from({ length: count }, (_, index) => sampleCase(world, first + index)).sort(byHarm);
      for (let start = 0; start < cases.length; start += casesAtOnce) {
        const batch = cases.slice(start, start + casesAtOnce);
        for (const { operation } of batch) called.add(operation.id);
        faults.push(
          ...(await Promise.all(batch.map((one) => tryCase(world, one, seen)))).filter((fault) => fault !== ''),
        );
      }
    }
    process.off('warning', warned);
    report(seen);
    expect(faults).toEqual([]);
    const uncalled = servedOperations.filter(({ id }) => !called.has(id)).map(({ id }) => id);
    if (fuzzCases >= servedOperations.length) expect(uncalled).toEqual([]);
  },
  fuzzTimeoutMs,
);

/** Operations take turns, so that a hundred cases cover nearly all of them. */
function sampleCase(world: ApiWorld, index: number): ApiCase {
  const operation = servedOperations[(index * 7 + fuzzSeed) % servedOperations.length] as Operation;
  const [one] = fc.sample(caseOf(operation, world), { numRuns: 1, seed: fuzzSeed + index });
  return one as ApiCase;
}

/**
 * Calls that end the caller or the organization come last, and calls that remove things before them: with nothing left
 * nothing is tested.
 */
const ends = new Set(['logout', 'revokeSession', 'deleteOrganization', 'updateMember', 'removeMember']);
const harmOf = ({ operation: { id, method } }: ApiCase) => (ends.has(id) ? 2 : method === 'DELETE' ? 1 : 0);
const byHarm = (a: ApiCase, b: ApiCase) => harmOf(a) - harmOf(b);

async function tryCase(world: ApiWorld, one: ApiCase, seen: Map<string, number>): Promise<string> {
  const what = `${one.operation.id} by ${one.caller}, ${one.care}: ${one.operation.method} ${one.path} ${JSON.stringify(one.body)?.slice(0, 1500) ?? ''} ${JSON.stringify(one.headers)}`;
  try {
    const answer = await send(world, one);
    if (answer.status < 300) seen.set(one.operation.id, (seen.get(one.operation.id) ?? 0) + 1);
    const fault = faultOf(one.operation, answer);
    return fault === undefined ? '' : `${what}\n→ ${answer.status} ${answer.text.slice(0, 500)}\n→ ${fault}`;
  } catch (error) {
    return `${what}\n→ no answer: ${error instanceof Error ? `${error.message} ${error.cause ?? ''}` : error}`;
  }
}

async function send(world: ApiWorld, { operation, caller, path, body, headers }: ApiCase): Promise<ApiAnswer> {
  const token = world.tokens[caller];
  const response = await fetch(new URL(path, app.address), {
    method: operation.method,
    redirect: 'manual',
    signal: AbortSignal.timeout(answerMs),
    headers: {
      ...headers,
      'x-organization-id': world.organization.id,
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const isStream = operation.success.kind === 'stream' && response.status === operation.success.status;
  const { text, isCut } = isStream ? await beginningOf(response) : { text: await response.text(), isCut: false };
  return { status: response.status, headers: response.headers, text, isCut };
}

/** Reads the beginning of a stream and closes it: some never end by themselves. */
async function beginningOf(response: Response): Promise<{ text: string; isCut: boolean }> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const later = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), streamMs));
  let text = '';
  for (;;) {
    const piece = await Promise.race([reader.read(), later]);
    if (piece === undefined) {
      await reader.cancel();
      return { text, isCut: true };
    }
    if (piece.done) return { text, isCut: false };
    text += piece.value;
  }
}

/** Lists the calls that never succeeded, so that refusals are not mistaken for coverage. */
function report(seen: Map<string, number>): void {
  const good = [...seen.values()].reduce((sum, count) => sum + count, 0);
  const never = servedOperations.filter(({ id }) => !seen.has(id)).map(({ id }) => id);
  console.log(
    `${fuzzCases} cases, seed ${fuzzSeed}: ${good} carried out; ${servedOperations.length - never.length} of ${servedOperations.length} operations at least once. Never: ${never.join(', ') || 'none'}`,
  );
}
