import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GoogleSandbox, startGoogleSandbox } from '../../../../sandbox/google/index.ts';
import type { AuthHashConfiguration, AuthUser, AuthUserBatch } from '../../../ports/index.ts';
import { type ConnectedFirestore, connectFirestore } from '../connect.ts';
import { collect, quickRetry } from '../testing/firestore-harness.ts';
import { isRedacted } from './redaction.ts';

const hash = Buffer.from('hash').toString('base64');
const salt = Buffer.from('salt').toString('base64');
let google: GoogleSandbox;
let open: ConnectedFirestore[] = [];

beforeEach(async () => {
  const users = Array.from({ length: 2_345 }, (_, index) => ({
    localId: `u${String(index).padStart(5, '0')}`,
    email: `u${index}@example.com`,
    emailVerified: index % 2 === 0,
    passwordHash: hash,
    salt: salt,
    createdAt: '1700000000000',
    customAttributes: JSON.stringify({ level: index }),
    ...(index === 7 ? { mfaInfo: [{ mfaEnrollmentId: 'm1', phoneInfo: '+41790000000' }] } : {}),
    ...(index === 8
      ? { providerUserInfo: [{ providerId: 'google.com', rawId: '12345', email: 'u8@example.com' }] }
      : {}),
  }));
  google = await startGoogleSandbox({
    people: [{ email: 'ada@example.com' }, { email: 'vic@example.com' }],
    projects: [
      { projectId: 'shop', users, grants: { 'ada@example.com': 'owner', 'vic@example.com': 'viewer' } },
      { projectId: 'copy', grants: { 'ada@example.com': 'owner', 'vic@example.com': 'viewer' } },
    ],
  });
});
afterEach(async () => {
  for (const connected of open) await connected.close();
  open = [];
  await google.stop();
});

function connect(projectId: string, email = 'ada@example.com') {
  const refreshToken = google.control.issueRefreshToken(email);
  const connection = {
    type: 'oauth',
    clientId: 'sandbox-client',
    clientSecret: 'sandbox-secret',
    refreshToken,
  } as const;
  const connected = connectFirestore({ projectId, connection, endpoints: google.endpoints, retry: quickRetry });
  open.push(connected);
  return connected.authUsers;
}

async function* batchesOf(users: readonly AuthUser[]): AsyncGenerator<AuthUserBatch, void> {
  yield { users };
}

const hashes: AuthHashConfiguration = {
  algorithm: 'SCRYPT',
  signerKey: 'a2V5',
  saltSeparator: 'Bw==',
  rounds: 8,
  memoryCost: 14,
  passwordHashesRedacted: false,
};

describe('reading users', () => {
  test('all of them in order, with claims, factors, providers and hashes', async () => {
    const users = (await collect(connect('shop').users())).flatMap((batch) => batch.users);
    expect(users).toHaveLength(2_345);
    expect(users.map((user) => user.localId)).toEqual(users.map((user) => user.localId).sort());
    expect(users[7]).toMatchObject({
      passwordHash: hash,
      salt: salt,
      customAttributes: '{"level":7}',
      mfaInfo: [{ mfaEnrollmentId: 'm1' }],
    });
    expect(users[8]!.providerUserInfo).toMatchObject([
      { providerId: 'google.com', rawId: '12345' },
      { providerId: 'password' },
    ]);
    expect(users.some(isRedacted)).toBe(false);
  });

  test('with the parameters the hashes were made with', async () => {
    const configuration = await connect('shop').hashConfiguration();
    expect(configuration).toMatchObject({
      algorithm: 'SCRYPT',
      rounds: 8,
      memoryCost: 14,
      saltSeparator: 'Bw==',
      passwordHashesRedacted: false,
    });
    expect(configuration.signerKey).toBe(google.control.state.projects.get('shop')!.hashConfig.signerKey);
  });

  test('tenants of Identity Platform are named, because their users are not among them', async () => {
    expect(await connect('shop').tenantIds()).toEqual([]);
    const { users } = google.control.state.projects.get('shop')!;
    users.set('t1/x', { localId: 'x', tenantId: 't1' });
    expect(await connect('shop').tenantIds()).toEqual(['t1']);
    expect((await collect(connect('shop').users())).flatMap((batch) => batch.users)).toHaveLength(2_345);
  });

  test('whether there are tenants is not known to who may not ask', async () => {
    google.control.setFaults([{ kind: 'permission_denied', path: '/tenants' }]);
    expect(await connect('shop').tenantIds()).toBeUndefined();
  });

  test('redacted hashes are noticed, not stored as if they were passwords', async () => {
    const viewer = connect('shop', 'vic@example.com');
    expect(await viewer.hashConfiguration()).toMatchObject({ passwordHashesRedacted: true });
    const [first] = await collect(viewer.users());
    expect(first!.users.every(isRedacted)).toBe(true);
  });

  test('throttling and outages pass; a consent taken back is SOURCE_AUTH_ERROR', async () => {
    const source = connect('shop');
    google.control.setFaults([
      { kind: 'throttled', times: 2 },
      { kind: 'unavailable', times: 2 },
      { kind: 'drop', times: 1 },
    ]);
    expect((await collect(source.users())).flatMap((batch) => batch.users)).toHaveLength(2_345);
    google.control.expireAccessTokens();
    expect((await collect(source.users())).flatMap((batch) => batch.users)).toHaveLength(2_345);
    google.control.revokeConsent('ada@example.com');
    await expect(collect(source.users())).rejects.toMatchObject({ code: 'SOURCE_AUTH_ERROR' });
  });
});

describe('restoring users', () => {
  test('they come back the same, with ids, claims, factors, providers and hashes under their parameters', async () => {
    const source = connect('shop');
    const target = connect('copy');
    const configuration = await source.hashConfiguration();
    const result = await target.importUsers(source.users(), { hashConfiguration: configuration, mode: 'overwrite' });
    expect(result).toEqual({ imported: 2_345, skipped: 0, failed: 0, errors: [] });
    const flat = async (users: typeof source) => (await collect(users.users())).flatMap((batch) => batch.users);
    expect(await flat(target)).toEqual(await flat(source));
    expect(google.control.importedHash('copy', 'u00003')).toMatchObject({
      hashAlgorithm: 'SCRYPT',
      signerKey: configuration.signerKey,
    });
  });

  test('existing users stay in skip_existing and are replaced in overwrite', async () => {
    const target = connect('copy');
    const users = [{ localId: 'a', email: 'a@example.com', displayName: 'old' }];
    await target.importUsers(batchesOf(users), { hashConfiguration: hashes, mode: 'overwrite' });
    const changed = [{ ...users[0]!, displayName: 'new' }, { localId: 'b' }];
    const rules = { hashConfiguration: hashes, mode: 'skip_existing' } as const;
    expect(await target.countImportable(batchesOf(changed), rules)).toBe(1);
    const skipped = await target.importUsers(batchesOf(changed), rules);
    expect(skipped).toMatchObject({ imported: 1, skipped: 1, failed: 0 });
    expect((await collect(target.users()))[0]!.users[0]).toMatchObject({ displayName: 'old' });
    await target.importUsers(batchesOf(changed), { hashConfiguration: hashes, mode: 'overwrite' });
    expect((await collect(target.users()))[0]!.users[0]).toMatchObject({ displayName: 'new' });
  });

  test('a user whose address another account has by now is refused, not doubled', async () => {
    const target = connect('copy');
    await target.importUsers(batchesOf([{ localId: 'new', email: 'a@example.com' }]), {
      hashConfiguration: hashes,
      mode: 'overwrite',
    });
    for (const mode of ['overwrite', 'skip_existing'] as const) {
      const result = await target.importUsers(batchesOf([{ localId: 'old', email: 'a@example.com' }]), {
        hashConfiguration: hashes,
        mode,
      });
      expect(result).toMatchObject({ imported: 0, skipped: 0, failed: 1, errors: [{ localId: 'old' }] });
    }
  });

  test('a user that is refused fails alone, also when it spoils the whole request', async () => {
    const target = connect('copy');
    const users = [
      { localId: 'a', email: 'same@example.com' },
      { localId: 'b', email: 'same@example.com' },
      { localId: 'c', phoneNumber: 'nonsense' },
      { localId: 'd', customAttributes: '{"sub":"x"}' },
      { localId: 'e' },
    ];
    const result = await target.importUsers(batchesOf(users), { hashConfiguration: hashes, mode: 'overwrite' });
    expect(result.imported + result.failed).toBe(5);
    expect(result.errors.map(({ localId }) => localId)).toEqual(expect.arrayContaining(['c', 'd']));
    const stored = (await collect(target.users())).flatMap((batch) => batch.users);
    expect(stored.map((user) => user.localId)).toContain('e');
  });

  test('a user whose hash was redacted is imported without password, and that is said', async () => {
    const viewer = connect('shop', 'vic@example.com');
    const [first] = await collect(viewer.users());
    const target = connect('copy');
    const some = first!.users.slice(0, 3);
    const result = await target.importUsers(batchesOf(some), { hashConfiguration: hashes, mode: 'overwrite' });
    expect(result.imported).toBe(3);
    expect(result.errors).toHaveLength(3);
    expect(result.errors[0]!.message).toContain('without a password');
  });

  test('a redacted hash never takes a living account its password', async () => {
    const viewer = connect('shop', 'vic@example.com');
    const [first] = await collect(viewer.users());
    const target = connect('shop');
    const some = [...first!.users.slice(0, 3), { ...first!.users[3]!, localId: 'no-password', email: 'n@example.com' }];
    const living = { localId: 'no-password', email: 'n@example.com', displayName: 'old' };
    await target.importUsers(batchesOf([living]), { hashConfiguration: hashes, mode: 'overwrite' });
    const changed = some.map((user) => ({ ...user, displayName: 'restored' }));
    const rules = { hashConfiguration: hashes, mode: 'overwrite' } as const;
    expect(await target.countImportable(batchesOf(changed), rules)).toBe(1);
    const result = await target.importUsers(batchesOf(changed), rules);
    expect(result).toMatchObject({ imported: 1, skipped: 0, failed: 3 });
    expect(result.errors[0]!.message).toContain('the account has a password');
    const stored = (await collect(target.users())).flatMap((batch) => batch.users);
    for (const { localId } of some.slice(0, 3)) {
      const user = stored.find((each) => each.localId === localId)!;
      expect(user).toMatchObject({ passwordHash: hash });
      expect(user.displayName).toBeUndefined();
    }
    expect(stored.find(({ localId }) => localId === 'no-password')).toMatchObject({ displayName: 'restored' });
  });

  test('users whose hashes came along and whose hash parameters did not come back without a password, and take nobody theirs', async () => {
    const source = connect('shop');
    google.control.setFaults([{ kind: 'permission_denied', path: '/config' }]);
    const hashConfiguration = await source.hashConfiguration();
    const [first] = await collect(source.users());
    google.control.setFaults([]);
    const some = first!.users.slice(0, 3);
    expect([hashConfiguration.passwordHashesRedacted, some.some(isRedacted)]).toEqual([true, false]);
    const options = { hashConfiguration, mode: 'overwrite' } as const;
    const result = await connect('copy').importUsers(batchesOf(some), options);
    expect(result, JSON.stringify(result.errors)).toMatchObject({ imported: 3, failed: 0 });
    expect(result.errors.map(({ message }) => message)).toEqual(
      Array(3).fill(expect.stringContaining('without a password')),
    );
    expect(await connect('shop').importUsers(batchesOf(some), options)).toMatchObject({ imported: 0, failed: 3 });
    const [living] = await collect(connect('shop').users());
    expect(living!.users.slice(0, 3)).toMatchObject(some.map(({ localId }) => ({ localId, passwordHash: hash })));
  });

  test('missing rights are RESTORE_PERMISSION_DENIED', async () => {
    const target = connect('copy', 'vic@example.com');
    const work = target.importUsers(batchesOf([{ localId: 'a' }]), { hashConfiguration: hashes, mode: 'overwrite' });
    await expect(work).rejects.toMatchObject({ code: 'RESTORE_PERMISSION_DENIED' });
  });
});
