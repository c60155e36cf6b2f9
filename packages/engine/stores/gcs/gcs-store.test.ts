import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type GcsSandbox, sandboxGcsToken, startGcsSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { failure } from '../../testing/failure.ts';
import { probeStore } from '../probe.ts';
import { listGcsBuckets } from './buckets.ts';
import { type GcsCredentials, parseGcsKeyFile } from './credentials.ts';
import { createGcsStore, type GcsStoreOptions } from './gcs-store.ts';

const bytes = new TextEncoder().encode('content');

describe('a Cloud Storage store', () => {
  let sandbox: GcsSandbox;
  beforeAll(async () => {
    sandbox = await startGcsSandbox({
      buckets: ['one', 'two'],
      callers: [{ token: sandboxGcsToken }, { token: 'reader', deny: ['UploadMultipart', 'GetBucket'] }],
      isTokenValid: (token) => token.startsWith('granted-'),
    });
  });
  afterAll(() => sandbox.stop());

  const withToken = (token: string): GcsCredentials => ({ type: 'access_token', accessToken: async () => token });
  const options = (more: Partial<GcsStoreOptions> = {}): GcsStoreOptions => ({
    bucket: 'one',
    projectId: 'sandbox',
    endpoint: sandbox.endpoint,
    credentials: withToken(sandboxGcsToken),
    retry: { attemptsMax: 4, delayMsMin: 1, delayMsMax: 3 },
    ...more,
  });

  test('tells wrong tokens, wrong buckets and missing permissions apart', async () => {
    expect((await failure(createGcsStore(options({ credentials: withToken('expired') })).get('a'))).code).toBe(
      'STORAGE_PERMISSION_DENIED',
    );
    expect((await failure(createGcsStore(options({ credentials: withToken('reader') })).put('a', bytes))).code).toBe(
      'STORAGE_PERMISSION_DENIED',
    );
    const noBucket = createGcsStore(options({ bucket: 'none' }));
    expect((await failure(noBucket.put('a', bytes))).code).toBe('STORAGE_UNAVAILABLE');
    expect((await failure(noBucket.head('a'))).code).toBe('STORAGE_UNAVAILABLE');
    expect((await failure(createGcsStore(options({ endpoint: 'http://127.0.0.1:1' })).get('a'))).code).toBe(
      'STORAGE_UNAVAILABLE',
    );
  });

  test('only retention of single objects is a lock, and who may not ask is told the permission', async () => {
    const plain = sandbox.objects.bucket('one').settings;
    const policy = { retentionPeriodSeconds: 1, effectiveAtMs: Date.now(), isLocked: false };
    await sandbox.objects.saveBucket({ ...plain, name: 'policy', project: 'other', retentionPolicy: policy });
    expect(await createGcsStore(options({ bucket: 'policy' })).lockAbility()).toEqual({
      canLock: false,
      reason: expect.stringContaining('Object retention is not enabled on the bucket of gs://policy/'),
    });
    const error = await failure(createGcsStore(options({ credentials: withToken('reader') })).lockAbility());
    expect([error.code, error.message]).toEqual([
      'STORAGE_PERMISSION_DENIED',
      expect.stringMatching(/is not known: the credentials lack storage\.buckets\.get/),
    ]);
    expect((await failure(createGcsStore(options({ bucket: 'none' })).lockAbility())).code).toBe('STORAGE_UNAVAILABLE');
  });

  test('the buckets of the project are listed for the form', async () => {
    const { bucket: _, ...connection } = options();
    expect(await listGcsBuckets(connection)).toEqual(['one', 'two']);
    expect((await failure(listGcsBuckets({ ...connection, credentials: withToken('x') }))).code).toBe(
      'STORAGE_PERMISSION_DENIED',
    );
  });

  test('a held object is named when it is to be deleted or replaced', async () => {
    const store = createGcsStore(options());
    await store.put('held', bytes);
    const held = sandbox.objects.object('one', 'held');
    held.settings.temporaryHold = true;
    const error = await failure(store.delete(['held', 'never']));
    expect([error.code, error.details.lockedKeys]).toEqual(['STORAGE_PERMISSION_DENIED', ['held']]);
    expect((await failure(store.put('held', new Uint8Array(3)))).code).toBe('STORAGE_PERMISSION_DENIED');
    held.settings.temporaryHold = false;
    await store.delete(['held']);
  });

  test('an object composed by others, which has no MD5, is verified all the same', async () => {
    const store = createGcsStore(options());
    const info = await store.put('part', bytes);
    const headers = { authorization: `Bearer ${sandboxGcsToken}` };
    const body = JSON.stringify({ sourceObjects: [{ name: 'part' }, { name: 'part', generation: info.etag }] });
    await fetch(`${sandbox.endpoint}/storage/v1/b/one/o/whole/compose`, { method: 'POST', headers, body });
    expect(Buffer.from(await store.get('whole')).toString()).toBe('contentcontent');
    sandbox.faults.set({ corruptReadRate: 1 });
    expect((await failure(store.get('whole'))).code).toBe('INTEGRITY_ERROR');
    sandbox.faults.clear();
  });

  describe('with credentials that are exchanged for tokens', () => {
    const requests: URLSearchParams[] = [];
    let refuse = false;
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      requests.push(new URLSearchParams(body));
      response.writeHead(refuse ? 400 : 200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(
          refuse
            ? { error: 'invalid_grant' }
            : { access_token: `granted-${requests.length}`, expires_in: 3600, token_type: 'Bearer' },
        ),
      );
    });
    let tokenUrl: string;
    beforeAll(async () => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
    });
    afterAll(() => void server.close());

    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const serviceAccount = {
      type: 'service_account',
      client_email: 'robot@sandbox',
      private_key: privateKey,
      token_uri: 'http://169.254.169.254/steal',
    };
    const person = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r' };

    test.each([serviceAccount, person])('a key file of type $type works, and only Google sees it', async (keyFile) => {
      const store = createGcsStore(options({ credentials: parseGcsKeyFile(keyFile), tokenUrl }));
      expect((await probeStore(store)).every((step) => step.ok)).toBe(true);
      expect(requests.at(-1)?.get('grant_type')).toMatch(keyFile === person ? /refresh_token/ : /jwt-bearer/);
    });

    test('a consent that was withdrawn is a permission error', async () => {
      refuse = true;
      const store = createGcsStore(options({ credentials: parseGcsKeyFile(person), tokenUrl }));
      expect((await failure(store.put('a', bytes))).code).toBe('STORAGE_PERMISSION_DENIED');
    });
  });

  test('key files of other kinds are refused: they can name addresses to send secrets to', () => {
    for (const file of [
      undefined,
      {},
      { type: 'external_account', token_url: 'http://x' },
      { type: 'service_account' },
    ])
      expect(() => parseGcsKeyFile(file)).toThrow('key file');
  });
});
