import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Firestore } from '@google-cloud/firestore';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foundOrganization, signUp } from '../../testing/people.ts';
import { type ProtectedProject, protectProject, untilEnded } from '../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let s3: S3Sandbox;
let shop: ProtectedProject;
let closedPort: number;
let refusing: Server;
let as: { token: string; organizationId: string };

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['first'], region: 'eu-central-1' });
  closedPort = await portNobodyListensOn();
  // A storage that refuses whatever it is asked, with the code that the path of its address names.
  refusing = createHttpServer((request, response) => {
    const code = request.url?.split('/')[1]?.split('?')[0];
    const body = `<Error><Code>${code}</Code><Message>as asked</Message></Error>`;
    response.writeHead(403, { 'content-type': 'application/xml' }).end(request.method === 'HEAD' ? '' : body);
  }).listen(0, '127.0.0.1');
  const resolve = async (name: string) => {
    if (/amazonaws|digitalocean|first\.minio|minoi/.test(name))
      throw Object.assign(new Error(name), { code: 'ENOTFOUND' });
    return name === 'intranet.example.com' ? ['10.1.2.3'] : ['127.0.0.1'];
  };
  app = await startTestApp(
    { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', STORAGE_RETRY_ATTEMPTS: '2', JOB_ATTEMPTS: '1' },
    { outbound: { resolve } },
  );
  shop = await protectProject(app);
  await newOrganization();
});
afterAll(async () => {
  await app.close();
  refusing.close();
  await Promise.all([s3.stop(), shop.close()]);
});

async function portNobodyListensOn(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const refusingWith = (code: string) => `http://127.0.0.1:${(refusing.address() as { port: number }).port}/${code}`;

async function newOrganization(): Promise<void> {
  const owner = await signUp(app, `owner-${app.platform.ids.next('usr')}@example.com`);
  as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
}

const add = (more: object = {}) =>
  app.request('POST', '/api/v1/storage-destinations', {
    ...as,
    body: {
      name: 'Bucket',
      type: 's3',
      bucket: 'first',
      region: 'eu-central-1',
      endpoint: s3.endpoint,
      forcePathStyle: true,
      credentials: sandboxS3Credential,
      ...more,
    },
  });

describe('what is wrong with a destination is told so that a person can mend it', () => {
  const { accessKeyId, secretAccessKey } = sandboxS3Credential;
  test.each([
    [
      'an endpoint that is not there',
      () => ({ endpoint: `http://127.0.0.1:${closedPort}` }),
      'STORAGE_UNAVAILABLE',
      /refused the connection/,
      /endpoint/,
    ],
    [
      'a name that leads into a private network',
      () => ({ endpoint: 'https://intranet.example.com' }),
      'STORAGE_UNAVAILABLE',
      /OUTBOUND_ALLOWED_SUBNETS/,
      /operator/,
    ],
    [
      'another region',
      () => ({ region: 'us-west-2' }),
      'STORAGE_UNAVAILABLE',
      /region/,
      /region .* \(holdfast storage update/,
    ],
    [
      'a region of S3 that does not exist',
      () => ({ region: 'eu-wset-1', endpoint: undefined, forcePathStyle: false }),
      'STORAGE_UNAVAILABLE',
      /could not be resolved\. It follows from the region eu-wset-1/,
      /spelling of the region/,
    ],
    [
      'a region of Spaces that does not exist',
      () => ({ type: 'spaces', region: 'frr1', endpoint: undefined, forcePathStyle: undefined }),
      'STORAGE_UNAVAILABLE',
      /could not be resolved\. It follows from the region frr1/,
      /spelling of the region/,
    ],
    [
      'a name that is not known because the bucket stands in it',
      () => ({ endpoint: 'https://minio.example.com', forcePathStyle: false }),
      'STORAGE_UNAVAILABLE',
      /name of the endpoint could not be resolved/,
      /--force-path-style/,
    ],
    [
      'a name that is not known, without TLS',
      () => ({ endpoint: 'http://minoi.example.com:9000' }),
      'STORAGE_UNAVAILABLE',
      /name of the endpoint could not be resolved: minoi\.example\.com/,
      /Check the endpoint/,
    ],
    [
      'an endpoint that does not speak TLS',
      () => ({ endpoint: s3.endpoint.replace('http:', 'https:') }),
      'STORAGE_UNAVAILABLE',
      /does not speak TLS/,
      /http:\/\/ or https:\/\//,
    ],
    [
      'a bucket that does not exist',
      () => ({ bucket: 'nowhere' }),
      'STORAGE_UNAVAILABLE',
      /no bucket at s3:\/\/nowhere/,
      /create the bucket/,
    ],
    [
      'an unknown key',
      () => ({ credentials: { accessKeyId: 'other', secretAccessKey } }),
      'STORAGE_PERMISSION_DENIED',
      /does not know this access key/,
      /holdfast storage update/,
    ],
    [
      'a wrong secret',
      () => ({ credentials: { accessKeyId, secretAccessKey: 'no' } }),
      'STORAGE_PERMISSION_DENIED',
      /secret of the access key is wrong/,
      /holdfast storage update/,
    ],
    [
      'a quota that is used up',
      () => ({ endpoint: refusingWith('QuotaExceeded') }),
      'STORAGE_UPLOAD_ERROR',
      /has no room for more/,
      /Raise the quota/,
    ],
    [
      'objects in an archive class',
      () => ({ endpoint: refusingWith('InvalidObjectState') }),
      'STORAGE_PERMISSION_DENIED',
      /archive class/,
      /Bring the objects of the backup back/,
    ],
    [
      'a clock that is wrong',
      () => ({ endpoint: refusingWith('RequestTimeTooSkewed') }),
      'STORAGE_UNAVAILABLE',
      /the clock of this machine/,
      /NTP/,
    ],
  ] as const)('%s', async (_name, more, code, message, advice) => {
    const startedAtMs = performance.now();
    const answer = await add(more());
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
    expect(answer.status, answer.text).toBe(201);
    const { status, isDefault, error } = answer.body.data;
    expect({ status, isDefault }).toEqual({ status: 'error', isDefault: false });
    expect(error).toMatchObject({
      code,
      message: expect.stringMatching(message),
      advice: expect.stringMatching(advice),
      details: { step: expect.stringMatching(/^(connect|write)$/) },
    });
    expect(error.advice).not.toContain('/api/v1');
  });

  test.each(['http', 'https'])(
    'a name that is not known is told where its buckets are looked for (%s)',
    async (scheme) => {
      const body = { type: 's3', endpoint: `${scheme}://minoi.example.com`, credentials: sandboxS3Credential };
      const answer = await app.request('POST', '/api/v1/storage-destinations/buckets', { ...as, body });
      expect([answer.status, answer.body.error.code], answer.text).toEqual([502, 'STORAGE_UNAVAILABLE']);
      expect(answer.body.error.message).toContain('could not be resolved: minoi.example.com');
    },
  );

  test('a private address names the setting that opens it', async () => {
    const answer = await add({ endpoint: 'https://10.0.0.7' });
    expect(answer.body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { field: 'endpoint', reason: expect.stringContaining('OUTBOUND_ALLOWED_SUBNETS') },
    });
  });

  test('the code of an error stands in the log, the code of a sign-in does not', () => {
    app.platform.log.warn({ err: { code: 'STORAGE_UNAVAILABLE' }, query: { code: 'one-time' } }, 'looked for');
    const line = app
      .logged()
      .split('\n')
      .find((text) => text.includes('looked for'));
    expect(line).toContain('"code":"STORAGE_UNAVAILABLE"');
    expect(line).not.toContain('one-time');
  });
});

describe('the default destination', () => {
  const current = async () =>
    (await app.request('GET', '/api/v1/organizations/current', as)).body.data.settings.defaultStorageId;

  test('is also the only one, once what was mistyped is mended', async () => {
    await newOrganization();
    const wrong = { ...sandboxS3Credential, secretAccessKey: 'mistyped' };
    const { id, status } = (await add({ credentials: wrong })).body.data;
    expect([status, await current()]).toEqual(['error', null]);
    const body = { credentials: sandboxS3Credential };
    const mended = await app.request('PATCH', `/api/v1/storage-destinations/${id}`, { ...as, body });
    expect(mended.body.data).toMatchObject({ status: 'connected', isDefault: true });
    expect(await current()).toBe(id);
  });

  test('is the first that works, unless the caller says otherwise, and its change is told', {
    tags: 'long',
  }, async () => {
    await newOrganization();
    const body = { name: 'Listener', url: 'https://example.com/hook', events: ['organization.updated'] };
    const hook = await app.request('POST', '/api/v1/webhooks', { ...as, body });
    expect((await add({ bucket: 'nowhere' })).body.data.isDefault).toBe(false);
    expect((await add({ bucket: 'nowhere', isDefault: true })).body.data.isDefault).toBe(false);
    expect((await add({ isDefault: false })).body.data.isDefault).toBe(false);
    expect(await current()).toBeNull();
    const { id, isDefault } = (await add()).body.data;
    expect([isDefault, await current()]).toEqual([true, id]);
    expect((await add()).body.data.isDefault).toBe(false);
    const path = `/api/v1/storage-destinations/${id}`;
    expect((await app.request('PATCH', path, { ...as, body: { isDefault: false } })).body.data.isDefault).toBe(false);
    expect(await current()).toBeNull();
    const told = async () =>
      (await app.request('GET', `/api/v1/webhooks/${hook.body.data.id}/deliveries`, as)).body.data.deliveries.length;
    await expect.poll(told).toBe(2);
  });
});

describe('a folder that cannot be used', () => {
  const own = () => join(app.folder, 'storage', as.organizationId);
  const addFolder = async (path: string) =>
    (await app.request('POST', '/api/v1/storage-destinations', { ...as, body: { name: path, type: 'local', path } }))
      .body.data;

  test('because a file lies there, or in its path, says so', async () => {
    as = { token: shop.owner.token, organizationId: shop.organizationId };
    mkdirSync(own(), { recursive: true });
    writeFileSync(join(own(), 'file'), '');
    for (const [path, reason] of [
      ['file', /it is a file/],
      ['file/below', /a part of its path is a file/],
    ] as const)
      expect(await addFolder(path)).toMatchObject({
        status: 'error',
        isDefault: false,
        error: {
          code: 'STORAGE_UNAVAILABLE',
          message: expect.stringMatching(reason),
          advice: expect.stringContaining('another path'),
          details: { step: 'connect' },
          retryable: false,
        },
      });
  });

  test('because the user may not is told by test, record, backup and copy; with the right again all is well', {
    tags: 'long',
  }, async () => {
    as = { token: shop.owner.token, organizationId: shop.organizationId };
    const { id, status } = await addFolder('closed');
    expect(status).toBe('connected');
    const allow = refuseFolder(join(own(), 'closed'));
    const refused = {
      code: 'STORAGE_PERMISSION_DENIED',
      message: expect.stringContaining('may not use it'),
      advice: expect.stringContaining('the user that runs this service'),
    };
    const backUp = async () => {
      const body = { projectId: shop.projectId, storageDestinationId: id };
      const started = await app.request('POST', '/api/v1/backups', { ...as, body });
      return untilEnded(app, started.headers.get('location') as string, as);
    };
    const destination = async () => (await app.request('GET', `/api/v1/storage-destinations/${id}`, as)).body.data;
    try {
      const tested = await app.request('POST', `/api/v1/storage-destinations/${id}/test`, as);
      expect(tested.body.data).toMatchObject({ ok: false, steps: [{ name: 'connect', error: refused.message }] });
      expect(await destination()).toMatchObject({ status: 'error', error: refused });
      const failed = await backUp();
      expect(failed).toMatchObject({
        status: 'failed',
        error: refused,
        copies: [{ status: 'failed', error: refused }],
      });
    } finally {
      allow();
    }
    expect(await backUp()).toMatchObject({ status: 'completed' });
    expect(await destination()).toMatchObject({ status: 'connected', error: null });
  });
});

/** The file system itself refuses, as it does to another user; whoever may do anything becomes nobody meanwhile. */
function refuseFolder(folder: string): () => void {
  chmodSync(folder, 0o000);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  return () => {
    if (isRoot) process.seteuid?.(0);
    chmodSync(folder, 0o700);
  };
}

/** A disk of a megabyte; undefined where mounting is not allowed. It goes when nobody has a file of it open any more. */
function mountSmallDisk(folder: string): (() => void) | undefined {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' });
    return () => void execFileSync('umount', ['--lazy', folder]);
  } catch {
    return undefined;
  }
}

test('a disk that runs full is told by backup, copies and destination; with room again all is well', {
  tags: 'long',
}, async (context) => {
  as = { token: shop.owner.token, organizationId: shop.organizationId };
  const unmount = mountSmallDisk(join(app.folder, 'storage', as.organizationId, 'small'));
  if (!unmount) return context.skip('this process may not mount a small disk');
  try {
    const created = await app.request('POST', '/api/v1/storage-destinations', {
      ...as,
      body: { name: 'Small disk', type: 'local', path: 'small' },
    });
    expect(created.body.data, created.text).toMatchObject({ status: 'connected' });
    const { id } = created.body.data;
    const firestore = new Firestore({ projectId: 'shop', host: shop.firestore.address, ssl: false });
    const fill = async (content: () => unknown) => {
      for (let index = 0; index < 5; index++) await firestore.doc(`blobs/${index}`).set({ content: content() });
    };
    await fill(() => randomBytes(500_000));
    const backUp = async () => {
      const body = { projectId: shop.projectId, storageDestinationId: id };
      const started = await app.request('POST', '/api/v1/backups', { ...as, body });
      return untilEnded(app, started.headers.get('location') as string, as);
    };
    const destination = async () => (await app.request('GET', `/api/v1/storage-destinations/${id}`, as)).body.data;
    const failed = await backUp();
    const noRoom = { code: 'STORAGE_UPLOAD_ERROR', message: expect.stringContaining('no room') };
    expect(failed).toMatchObject({
      status: 'failed',
      error: { ...noRoom, advice: expect.stringMatching(/Make room/) },
    });
    expect(failed.copies).toMatchObject([{ status: 'failed', error: noRoom }]);
    expect(await destination()).toMatchObject({ status: 'error', error: noRoom });
    await fill(() => 'small');
    const freed = async () => (await backUp()).status;
    await expect.poll(freed, { interval: 1000 }).toBe('completed');
    expect(await destination()).toMatchObject({ status: 'connected', error: null });
    await firestore.terminate();
  } finally {
    unmount();
  }
});
