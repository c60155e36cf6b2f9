// @module-tag long
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../testing/backup-bench.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ SHUTDOWN_GRACE_SECONDS: '8' });
});
afterAll(() => bench.close());

/** One kept-alive connection, as a browser or a proxy has it. */
function kept() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { token, organizationId } = bench.as;
  const headers = { authorization: `Bearer ${token}`, 'x-organization-id': organizationId };
  const begin = async (path: string): Promise<IncomingMessage> => {
    const [answer] = await once(get(new URL(path, bench.app.address), { agent, headers }), 'response');
    return answer as IncomingMessage;
  };
  const ask = async (path: string) => {
    const answer = await begin(path);
    return { status: answer.statusCode, connection: answer.headers.connection, text: await text(answer) };
  };
  return { begin, ask };
}

test('a process that is told to stop hangs up on nobody: requests on open connections are answered, followers are told to reconnect, idle connections end afterwards', async () => {
  const [steady, balancer, follower] = [kept(), kept(), kept()];
  expect(await steady.ask('/api/v1/auth/me')).toMatchObject({ status: 200, connection: 'keep-alive' });
  expect(await balancer.ask('/health/ready')).toMatchObject({ status: 200, connection: 'keep-alive' });
  const events = await follower.begin('/api/v1/organizations/current/events');
  const port = Number(new URL(bench.app.address).port);
  const silent = connect(port, '127.0.0.1');
  await once(silent, 'connect');
  const slow = connect(port, '127.0.0.1');
  slow.write('GET /health/live HTTP/1.1\r\nHost: x\r\n');

  let isStopped = false;
  const stopped = bench.app.stop({ lingers: true }).then(() => {
    isStopped = true;
  });
  expect(await balancer.ask('/health/ready')).toMatchObject({ status: 503, connection: 'close' });
  expect(await steady.ask('/api/v1/auth/me')).toMatchObject({ status: 200, connection: 'close' });
  expect(await text(events)).toBe(': following\n\nretry: 1000\n\n');
  // A client that does not know yet that the process stops is answered too.
  expect(await kept().ask('/api/v1/auth/me')).toMatchObject({ status: 200, connection: 'close' });
  expect(await text(await kept().begin('/api/v1/organizations/current/events'))).toBe('retry: 1000\n\n');
  slow.write('\r\n');
  expect(await text(slow)).toMatch(/^HTTP\/1.1 200 OK\r\n(.+\r\n)*connection: close\r\n/i);
  expect([isStopped, silent.readyState]).toEqual([false, 'open']);
  await once(silent.resume(), 'end');
  await stopped;
});
