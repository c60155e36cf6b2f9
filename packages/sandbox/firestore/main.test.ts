import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { query } from './testing/fixtures.ts';
import { RawClient } from './testing/raw-client.ts';

test('in a process of its own it prints its addresses, serves a sample, and goes when told', async () => {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
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
