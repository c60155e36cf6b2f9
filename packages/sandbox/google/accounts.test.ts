import { deleteApp, initializeApp } from 'firebase-admin/app';
import { getAuth } from 'firebase-admin/auth';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { redactedHash } from './accounts.ts';
import { type GoogleSandbox, startGoogleSandbox } from './index.ts';

let sandbox: GoogleSandbox;

beforeEach(async () => {
  sandbox = await startGoogleSandbox({
    projects: [
      { projectId: 'shop', grants: { 'ada@example.com': 'owner', 'vic@example.com': 'viewer' } },
      { projectId: 'other' },
    ],
  });
});
afterEach(() => sandbox.stop());

async function call(
  path: string,
  body?: unknown,
  email = 'ada@example.com',
): Promise<{ status: number; body: Record<string, never> }> {
  const token = sandbox.control.issueAccessToken(email);
  const response = await fetch(`${sandbox.url}/v1/projects/shop/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, never> };
}

const scrypt = { hashAlgorithm: 'SCRYPT', signerKey: 'a2V5', saltSeparator: 'Bw==', rounds: 8, memoryCost: 14 };

describe('firebase-admin, unchanged', () => {
  it('imports users with hashes and claims and lists them back over several pages', async () => {
    process.env.FIREBASE_AUTH_EMULATOR_HOST = sandbox.url.replace('http://', '');
    const app = initializeApp({ projectId: 'shop' }, `app-${Math.random()}`);
    try {
      const auth = getAuth(app);
      const users = Array.from({ length: 25 }, (_, index) => ({
        uid: `u${String(index).padStart(3, '0')}`,
        email: `U${index}@Example.com`,
        passwordHash: Buffer.from(`hash${index}`),
        passwordSalt: Buffer.from('salt'),
        customClaims: { level: index },
      }));
      const result = await auth.importUsers(users, {
        hash: {
          algorithm: 'SCRYPT',
          key: Buffer.from('key'),
          saltSeparator: Buffer.from([7]),
          rounds: 8,
          memoryCost: 14,
        },
      });
      expect(result).toMatchObject({ successCount: 25, failureCount: 0 });
      const listed = [];
      let page = await auth.listUsers(10);
      for (; ; page = await auth.listUsers(10, page.pageToken)) {
        listed.push(...page.users);
        if (page.pageToken === undefined) break;
      }
      expect(listed.map((user) => user.uid)).toEqual(users.map((user) => user.uid));
      expect(listed[3]).toMatchObject({ email: 'u3@example.com', customClaims: { level: 3 } });
      expect(Buffer.from(listed[3]!.passwordHash!, 'base64').toString()).toBe('hash3');
      expect(listed[3]!.providerData.map((info) => info.providerId)).toEqual(['password']);
      const again = await auth.importUsers([{ uid: 'u001' }]);
      expect(again.errors[0]!.error.message).toContain('can not overwrite');
      const made = await auth.createUser({ email: 'new@example.com', password: 'secret99' });
      await auth.setCustomUserClaims(made.uid, { admin: true });
      expect((await auth.getUserByEmail('new@example.com')).customClaims).toEqual({ admin: true });
      await auth.updateUser(made.uid, { disabled: true });
      expect((await auth.getUser(made.uid)).disabled).toBe(true);
      expect(await auth.deleteUsers([made.uid, 'u000'])).toMatchObject({ successCount: 2 });
      await auth.deleteUser('u001');
      await expect(auth.getUser('u001')).rejects.toMatchObject({ code: 'auth/user-not-found' });
    } finally {
      await deleteApp(app);
      delete process.env.FIREBASE_AUTH_EMULATOR_HOST;
    }
  });
});

describe('accounts', () => {
  it('a caller without the right sees REDACTED instead of hashes, and may not write or read the hash config', async () => {
    const users = [{ localId: 'a', email: 'a@example.com', passwordHash: 'aGFzaA==', salt: 'c2FsdA==' }];
    expect((await call('accounts:batchCreate', { users, ...scrypt })).body).not.toHaveProperty('error');
    const seen = await call('accounts:batchGet?maxResults=5', undefined, 'vic@example.com');
    expect(seen.body.users![0]).toMatchObject({ passwordHash: redactedHash });
    expect(seen.body.users![0]).not.toHaveProperty('salt');
    expect((await call('accounts:batchCreate', { users }, 'vic@example.com')).status).toBe(403);
    const config = `${sandbox.url}/admin/v2/projects/shop/config`;
    const read = (email: string) =>
      fetch(config, { headers: { authorization: `Bearer ${sandbox.control.issueAccessToken(email)}` } });
    expect((await read('vic@example.com')).status).toBe(403);
    expect(await (await read('ada@example.com')).json()).toMatchObject({
      signIn: { hashConfig: { algorithm: 'SCRYPT', rounds: 8, memoryCost: 14, saltSeparator: 'Bw==' } },
    });
  });

  it('an import fails the single bad user and stores the good ones with their hash parameters', async () => {
    const users = [
      { email: 'nobody@example.com' },
      { localId: 'good', email: 'g@example.com', passwordHash: 'aGFzaA', salt: 'c2FsdA' },
      { localId: 'claims', customAttributes: '{"sub":"x"}' },
      { localId: 'phone', phoneNumber: 'abc' },
    ];
    const { body } = await call('accounts:batchCreate', { users, ...scrypt });
    expect(body.error).toMatchObject([
      { index: 0, message: 'localId is missing' },
      { index: 2, message: 'Custom claims provided include a reserved claim.' },
      { index: 3, message: 'phone number format is invalid' },
    ]);
    expect(sandbox.control.importedHash('shop', 'good')).toEqual(scrypt);
  });

  it('an import of hashes without parameters, of too many users or of doubles is refused whole', async () => {
    const hashed = { users: [{ localId: 'a', passwordHash: 'aGFzaA==' }] };
    const message = async (body: unknown) =>
      ((await call('accounts:batchCreate', body)).body.error as { message?: string } | undefined)?.message;
    expect(await message(hashed)).toBe('MISSING_HASH_ALGORITHM');
    expect(await message({ ...hashed, hashAlgorithm: 'ROT13' })).toBe('INVALID_HASH_ALGORITHM');
    expect(await message({ users: [{ localId: 'a' }, { localId: 'a' }] })).toBe('DUPLICATE_LOCAL_ID : a');
    const many = Array.from({ length: 1001 }, (_, index) => ({ localId: `u${index}` }));
    expect(await message({ users: many })).toContain('MAXIMUM_USER_COUNT_EXCEEDED');
    expect(await message({ users: [] })).toBe('MISSING_USER_ACCOUNT');
  });

  it('with a check, only the user with the e-mail address of another account is refused', async () => {
    await call('accounts:batchCreate', { users: [{ localId: 'a', email: 'a@example.com' }] });
    const users = [
      { localId: 'a', email: 'a@example.com' },
      { localId: 'b', email: 'b@example.com' },
      { localId: 'c', email: 'A@example.com' },
    ];
    const { body } = await call('accounts:batchCreate', { users, sanityCheck: true, allowOverwrite: true });
    expect(body.error).toEqual([{ index: 2, message: 'email exists in other account in database' }]);
  });

  it('tenants keep their users apart', async () => {
    await call('tenants/t1/accounts:batchCreate', { users: [{ localId: 'a' }] });
    expect((await call('accounts:batchGet')).body).not.toHaveProperty('users');
    expect((await call('tenants/t1/accounts:batchGet')).body.users).toMatchObject([{ localId: 'a', tenantId: 't1' }]);
  });

  it('query counts and finds by e-mail, and delete of an unknown user is USER_NOT_FOUND', async () => {
    await call('accounts:batchCreate', { users: [{ localId: 'a', email: 'a@example.com' }, { localId: 'b' }] });
    expect((await call('accounts:query', { returnUserInfo: false })).body).toEqual({ recordsCount: '2' });
    const found = await call('accounts:query', { expression: [{ email: 'A@example.com' }] });
    expect(found.body.userInfo).toMatchObject([{ localId: 'a' }]);
    expect((await call('accounts:delete', { localId: 'x' })).body.error).toMatchObject({ message: 'USER_NOT_FOUND' });
  });
});
