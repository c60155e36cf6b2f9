import { Storage } from '@google-cloud/storage';
import { OAuth2Client } from 'google-auth-library';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GcsSandbox, sandboxGcsToken, startGcsSandbox } from './server.ts';

let sandbox: GcsSandbox;
beforeAll(async () => {
  sandbox = await startGcsSandbox({ buckets: ['one'] });
});
afterAll(() => sandbox.stop());

function client(): Storage {
  const authClient = new OAuth2Client();
  authClient.setCredentials({ access_token: sandboxGcsToken, expiry_date: Date.now() + 3_600_000 });
  const place = { projectId: 'sandbox', apiEndpoint: sandbox.endpoint, useAuthWithCustomEndpoint: true };
  return new Storage({ ...place, authClient, retryOptions: { autoRetry: false } });
}

test('a bucket that keeps versions hides what is replaced or deleted, and a named generation goes for good', async () => {
  const bucket = client().bucket('one');
  await bucket.setMetadata({ versioning: { enabled: true } });
  for (const text of ['first', 'second']) await bucket.file('kept/a').save(text, { resumable: false });
  await bucket.file('kept/a').delete();
  await bucket.file('kept/b').save('live', { resumable: false });
  await bucket.setMetadata({ versioning: { enabled: false } });
  expect((await bucket.getFiles({ prefix: 'kept/' }))[0].map(({ name }) => name)).toEqual(['kept/b']);
  const page = { prefix: 'kept/', versions: true, maxResults: 1, autoPaginate: false };
  const [first, next] = await bucket.getFiles(page);
  const all = [...first, ...(await bucket.getFiles({ ...next, maxResults: 2 } as typeof page))[0]];
  expect(all.map(({ name, metadata }) => [name, metadata.timeDeleted !== undefined])).toEqual([
    ['kept/a', true],
    ['kept/a', true],
    ['kept/b', false],
  ]);
  const former = bucket.file('kept/a', { generation: all[0]!.metadata.generation as string });
  expect(String((await former.download())[0])).toBe('first');
  await former.delete();
  expect((await bucket.getFiles({ prefix: 'kept/a', versions: true }))[0]).toHaveLength(1);
  await bucket.file('kept/b').delete();
});
