import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { query } from './testing/fixtures.ts';
import { RawClient } from './testing/raw-client.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));

test('in a separate process it prints its addresses, serves a sample, and ends when told', async () => {
  const child = spawn(process.execPath, [main, '--sample', '300', '--project', 'demo'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) if (lines.push(line) === 2) break;
  const [emulator, control] = lines.map((line) => line.slice(line.indexOf('=') + 1));
  const client = new RawClient(Number(emulator!.split(':')[1]));
  expect(await query(client, { from: [{ allDescendants: true }] })).toHaveLength(300);
  const counters = await fetch(`${control}/counters`);
  expect(await counters.json()).toMatchObject({ reads: 300 });
  client.destroy();
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});

test('a mistake in the command is reported in one sentence', { tags: 'long' }, async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const said = async (...args: string[]) => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { code, text: `${out}${error}`.trim() };
  };
  expect(await said('--port', String(port))).toEqual({
    code: 1,
    text: `Port ${port} is taken by another program. Choose another one with --port.`,
  });
  expect(await said('--prot', '1')).toEqual({
    code: 1,
    text: "Unknown option '--prot'. The option --help lists what there is.",
  });
  expect(await said('--help')).toMatchObject({ code: 0, text: expect.stringContaining('--sample') });
  taken.close();
});
