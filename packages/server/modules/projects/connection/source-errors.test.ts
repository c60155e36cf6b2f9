import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';

let bench: BackupBench;
let silent: Server;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.firestore.doc('users/ada').set({ n: 1 });
  silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
});
afterAll(async () => {
  silent.close();
  await bench.close();
});
beforeEach(() => bench.sandbox.control.clearFaults());

const portOf = (server: Server) => (server.address() as { port: number }).port;
const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });
const connect = (host: string) =>
  call('POST', '/projects', { name: 'Other', sourceProjectId: 'shop', connection: { type: 'emulator', host } });

describe('a database that cannot be used', () => {
  test('because it never answers is unavailable within ten seconds, with any request', {
    tags: 'long',
  }, async () => {
    const host = `127.0.0.1:${portOf(silent)}`;
    const startedAtMs = performance.now();
    const late = { code: 'SOURCE_UNAVAILABLE', message: 'The database did not answer within 8 seconds.' };
    const { projectId } = bench.shop;
    const asked = connect(host);
    bench.sandbox.control.addFault({ latencyMs: 30_000, times: 1000 });
    const live = [
      call('POST', `/projects/${projectId}/reconnect`),
      call('GET', `/projects/${projectId}/collections`),
      call('GET', `/projects/${projectId}/cost-estimate`),
      call('POST', '/backups', { projectId, dryRun: true }),
    ];
    expect((await asked).body.error).toMatchObject(late);
    const [reconnected, ...others] = await Promise.all(live);
    expect(performance.now() - startedAtMs).toBeLessThan(20_000);
    expect(reconnected?.body.data.connection).toMatchObject({ status: 'error', error: late });
    for (const { body } of others) expect(body.error).toMatchObject(late);
    bench.sandbox.control.clearFaults();
    expect((await call('POST', `/projects/${projectId}/reconnect`)).body.data.connection.status).toBe('connected');
  });

  test('because nobody listens there says that the connection was refused', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const port = portOf(closed);
    await new Promise((resolve) => closed.close(resolve));
    const { status, body } = await connect(`127.0.0.1:${port}`);
    expect([status, body.error.code]).toEqual([502, 'SOURCE_UNAVAILABLE']);
    expect(body.error.message).toMatch(/^The database cannot be reached: it refused the connection/);
    expect(body.error.details.advice).toContain('network');
  });

  test.each([
    ['FAILED_PRECONDITION', /native mode/],
    ['UNIMPLEMENTED', /Cloud Firestore API/],
    ['NOT_FOUND', /id of the Google project and of the database/],
    ['INVALID_ARGUMENT', /id of the Google project and of the database/],
    ['PERMISSION_DENIED', /Grant the role Cloud Datastore Viewer \(roles\/datastore\.viewer\)/],
  ] as const)(
    'because it answers %s says what to look at, when it is connected and when it is backed up',
    async (status, advice) => {
      const code = status === 'PERMISSION_DENIED' ? 'SOURCE_AUTH_ERROR' : 'SOURCE_UNAVAILABLE';
      bench.sandbox.control.addFault({ status, times: 1000 });
      const refused = await connect(bench.sandbox.address);
      expect(refused.body.error).toMatchObject({ code, details: { advice: expect.stringMatching(advice) } });
      const { error } = await bench.run();
      expect(error).toMatchObject({ code, retryable: false, advice: expect.stringMatching(advice) });
      expect(error.advice).not.toContain('/api/v1');
    },
  );
});
