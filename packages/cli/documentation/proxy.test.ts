import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fences } from '../../server/testing/documentation.ts';
import { foundOrganization, signUp } from '../../server/testing/people.ts';
import { startTestApp, type TestApp } from '../../server/testing/test-app.ts';
import { testAuthority, testCertificate } from '../../server/testing/webhook-receiver.ts';
import { freePort } from './testing/checkout.ts';

const hasNginx = spawnSync('nginx', ['-v']).status === 0;

/** Runs the block of docs/firebase.md in front of a service of this test, with local addresses and files. */
describe.skipIf(!hasNginx)('behind nginx as docs/firebase.md has it (needs nginx)', () => {
  let folder: string;
  let port: number;
  let app: TestApp;
  let nginx: ChildProcess | undefined;
  let file: string;
  let as: { token: string; organizationId: string };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdfast-proxy-'));
    port = await freePort();
    app = await startTestApp({ TRUST_PROXY: '127.0.0.1', BASE_URL: `https://localhost:${port}` });
    const owner = await signUp(app, 'owner@example.com');
    as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
    const { key, cert } = testCertificate;
    for (const [name, content] of Object.entries({ 'fullchain.pem': cert, 'privkey.pem': key }))
      await writeFile(join(folder, name), content);
    const block = fences('docs/firebase.md').find(({ language }) => language === 'nginx');
    const server = (block?.lines ?? [])
      .join('\n')
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace('server_name backups.acme.test', 'server_name localhost')
      .replaceAll('/etc/letsencrypt/live/backups.acme.test', folder)
      .replace('http://127.0.0.1:8787', app.address);
    const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/tmp;`);
    file = join(folder, 'nginx.conf');
    const around = [`pid ${folder}/nginx.pid;`, 'daemon off;', 'error_log stderr;', 'events {}'];
    await writeFile(file, [...around, 'http {', 'access_log off;', ...kept, server, '}', ''].join('\n'));
  });
  afterAll(async () => {
    if (nginx?.kill('SIGTERM')) await once(nginx, 'exit');
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Calls from another address of this machine, with a forged forwarded address. */
  async function ask(path: string, more: { headers?: object; body?: object } = {}): Promise<IncomingMessage> {
    const place = { host: '127.0.0.1', servername: 'localhost', port, ca: testAuthority, localAddress: '127.0.0.2' };
    const headers = {
      authorization: `Bearer ${as.token}`,
      'x-organization-id': as.organizationId,
      'x-forwarded-for': '203.0.113.9',
      'content-type': 'application/json',
      ...more.headers,
    };
    const call = request({ ...place, path, method: more.body ? 'PUT' : 'GET', headers });
    call.end(more.body && JSON.stringify(more.body));
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    return answer;
  }

  test('nginx accepts the configuration', () => {
    const { status, stderr } = spawnSync('nginx', ['-t', '-c', file], { encoding: 'utf8' });
    expect(stderr).toContain('test is successful');
    expect([status, stderr]).toEqual([0, expect.not.stringMatching(/\[(emerg|error|crit)\]/)]);
  });

  test('callers have their own address, metrics are for nobody, and streams arrive as they are written', async () => {
    nginx = spawn('nginx', ['-c', file], { stdio: 'ignore' });
    const isThere = async () => (await ask('/health/ready').catch(() => undefined))?.statusCode;
    await expect.poll(isThere).toBe(200);
    expect((await ask('/metrics')).statusCode).toBe(401);

    const stream = await ask('/api/v1/organizations/current/events');
    expect(stream.headers['content-type']).toContain('text/event-stream');
    let heard = '';
    stream.on('data', (piece) => {
      heard += String(piece);
    });
    const renamed = await ask('/api/v1/organizations/current', { body: { name: 'Renamed' } });
    expect(renamed.statusCode, await text(renamed)).toBe(200);
    await expect.poll(() => heard).toContain(as.organizationId);
    stream.destroy();

    const rows = await app.request('GET', '/api/v1/audit-logs?action=organization.updated', as);
    expect(rows.body.data).toMatchObject([{ context: { ip: '127.0.0.2' } }]);
  });
});
