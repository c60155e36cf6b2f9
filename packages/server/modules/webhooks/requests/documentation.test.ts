import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import { eventNames, simpleSamples, standardSamples } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReceivedRequest } from '../../../testing/webhook-receiver.ts';
import { startWebhookHouse, type WebhookBench } from '../testing.ts';
import { documentationPath, writeDocumentation } from './documentation.ts';

test('docs/webhooks.md matches the contract and the receivers', () => {
  const written = readFileSync(documentationPath, 'utf8');
  expect(written).toBe(writeDocumentation());
  for (const name of eventNames) expect(written).toContain(`### ${name}\n`);
});

const secret = 'whsec_ZG9jdW1lbnRlZC1yZWNlaXZlcnMtdmVyaWZ5LXRoaXM=';
const file = (name: string) => fileURLToPath(new URL(`../../../../../docs/receivers/${name}`, import.meta.url));
const crowd = 20;
const hasGo = (() => {
  try {
    return Boolean(execFileSync('go', ['version']));
  } catch {
    return false;
  }
})();

const languages = [
  ['TypeScript', process.execPath, [file('receiver.ts')], true],
  ['Python', 'python3', [file('receiver.py')], true],
  ['Go', 'go', ['run', file('receiver.go')], hasGo],
] as const;

describe('the documented receivers', () => {
  let house: WebhookBench;
  let standard: ReceivedRequest;
  let simple: ReceivedRequest;
  beforeAll(async () => {
    house = await startWebhookHouse();
    await house.create('/standard', { secret });
    await house.create('/simple', { format: 'simple', secret });
    await house.emit('backup.completed', {
      data: { ...standardSamples['backup.completed'], note: 'grüße ✓' },
      simple: simpleSamples['backup.completed'],
    });
    [standard] = (await house.receiver.arrivals('/standard', 1)) as [ReceivedRequest];
    [simple] = (await house.receiver.arrivals('/simple', 1)) as [ReceivedRequest];
  });
  afterAll(() => house.close());

  test.for(languages)(
    '%s: accepts what we send, once, and nothing else',
    { tags: 'long' },
    async ([_language, program, args, runs], { skip }) => {
      if (!runs) skip('not installed here');
      const child = spawn(program, args, {
        env: { ...process.env, WEBHOOK_SECRET: secret, PORT: '0', NODE_OPTIONS: '' },
        // `go run` starts the receiver as a separate process, which only ends together with their group.
        detached: true,
      });
      const output: string[] = [];
      child.stdout.on('data', (chunk) => output.push(String(chunk)));
      try {
        const port = await listening(child, output);
        const tamper = (request: ReceivedRequest) => ({ ...request, body: request.body.replace('Shop', 'Shoq') });
        const stale = {
          ...standard,
          headers: {
            ...standard.headers,
            'x-service-timestamp': String(Number(standard.headers['x-service-timestamp']) - 301),
          },
        };
        const bare = { ...simple, headers: { ...simple.headers, 'x-webhook-signature': undefined } };
        expect(await replay(port, standard)).toBe(204);
        expect(await replay(port, standard)).toBe(204);
        expect(await replay(port, simple)).toBe(204);
        for (const bad of [tamper(standard), tamper(simple), stale, bare]) expect(await replay(port, bad)).toBe(401);
        const printed = () => output.join('').trimEnd().split('\n').slice(1);
        await expect.poll(printed).toEqual(Array(2).fill('backup.completed'));
        // The simple format has no id that distinguishes deliveries; concurrent ones must be whole lines.
        await Promise.all(Array.from({ length: crowd }, () => replay(port, simple)));
        await expect.poll(() => printed().length).toBe(2 + crowd);
        expect(new Set(printed())).toEqual(new Set(['backup.completed']));
      } finally {
        process.kill(-child.pid!);
      }
    },
  );
});

test.for(languages.flatMap((language) => [undefined, ''].map((given) => ({ language, given }))))(
  'a receiver does not start without its secret: $language.0, $given',
  async ({ language, given }, { skip }) => {
    const [, program, args, runs] = language;
    if (!runs) skip('not installed here');
    const { WEBHOOK_SECRET: _, ...environment } = process.env;
    const child = spawn(program, args, {
      env: { ...environment, ...(given !== undefined && { WEBHOOK_SECRET: given }), PORT: '0', NODE_OPTIONS: '' },
    });
    const said = { out: '', error: '' };
    child.stderr.on('data', (chunk) => {
      said.error += chunk;
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.stdout.on('data', (chunk) => {
      said.out += chunk;
      child.kill();
    });
    const code = await ended;
    expect([code, said.out], said.error).toEqual([1, '']);
    expect(said.error).toContain('WEBHOOK_SECRET');
  },
);

async function listening(child: ChildProcess, output: string[]): Promise<number> {
  const errors: string[] = [];
  child.stderr?.on('data', (chunk) => errors.push(String(chunk)));
  await expect.poll(() => output.join(''), { message: errors.join('') }).toMatch(/listening on \d+/);
  return Number(/listening on (\d+)/.exec(output.join(''))?.[1]);
}

/** Sends the received delivery again, unchanged. */
function replay(
  port: number,
  { path, headers, body }: Pick<ReceivedRequest, 'path' | 'headers' | 'body'>,
): Promise<number> {
  const given = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !['host', 'connection'].includes(name),
  );
  return new Promise((resolve, reject) => {
    const call = httpRequest(
      { port, host: '127.0.0.1', path, method: 'POST', headers: Object.fromEntries(given) as Record<string, string> },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    call.on('error', reject);
    call.end(body);
  });
}
