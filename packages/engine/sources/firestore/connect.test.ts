import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GoogleSandbox, startGoogleSandbox } from '../../../sandbox/google/index.ts';
import { type FirestoreSandbox, startFirestoreSandbox } from '../../../sandbox/index.ts';
import { everything, wholeDatabase } from '../../ports/index.ts';
import { type ConnectedFirestore, connectFirestore, type FirestoreConnection } from './connect.ts';
import { collect, fields, quickRetry, scanAll, write } from './testing/firestore-harness.ts';

let google: GoogleSandbox;
let firestore: FirestoreSandbox;
let open: ConnectedFirestore[] = [];

beforeEach(async () => {
  google = await startGoogleSandbox({ projects: [{ projectId: 'shop', grants: { 'ada@example.com': 'owner' } }] });
  firestore = await startFirestoreSandbox({
    authorize: (token, target) => {
      const known = google.control.verifyAccessToken(token);
      if (known === undefined) return 'unauthenticated';
      const isServiceAccount = known.email.endsWith(`@${target.project}.iam.gserviceaccount.com`);
      return known.email === 'ada@example.com' || isServiceAccount ? 'allow' : 'deny';
    },
    strictDatabases: true,
  });
  firestore.control.createDatabase({ project: 'shop', database: '(default)' });
});
afterEach(async () => {
  for (const connected of open) await connected.close();
  open = [];
  await firestore.stop();
  await google.stop();
});

function connect(connection: FirestoreConnection, more = {}): ConnectedFirestore {
  const endpoints = { ...google.endpoints, firestore: `http://${firestore.address}` };
  const connected = connectFirestore({ projectId: 'shop', connection, endpoints, retry: quickRetry, ...more });
  open.push(connected);
  return connected;
}

function oauth(email = 'ada@example.com'): FirestoreConnection {
  const refreshToken = google.control.issueRefreshToken(email);
  return { type: 'oauth', clientId: 'sandbox-client', clientSecret: 'sandbox-secret', refreshToken };
}

describe('credentials', () => {
  test('a service account key and a refresh token each open the database', async () => {
    const key = google.control.createServiceAccount('shop');
    await write(connect({ type: 'service_account', key }), [{ path: 'c/a', fields: fields(1) }]);
    expect(await scanAll(connect(oauth()))).toHaveLength(1);
  });

  test('a key never makes us call the address it names', async () => {
    const key = { ...google.control.createServiceAccount('shop'), token_uri: 'http://127.0.0.1:1/token' };
    expect(await scanAll(connect({ type: 'service_account', key }))).toEqual([]);
  });

  test('a token that dies in the middle is renewed once, unseen', async () => {
    const connected = connect(oauth());
    await write(connected, [{ path: 'c/a', fields: fields(1) }]);
    google.control.expireAccessTokens();
    expect(await scanAll(connected)).toHaveLength(1);
    const readTime = await connected.source.snapshotTime();
    google.control.expireAccessTokens();
    expect(await scanAll(connected, { readTime, namesOnly: true })).toHaveLength(1);
    expect(connected.source.client.rest.isGivenUp).toBe(false);
    google.control.expireAccessTokens();
    const result = await connected.target.apply(
      connected.source.scan(everything, { scope: wholeDatabase, readTime: await connected.source.snapshotTime() }),
      { mode: 'overwrite', rampUp: false },
    );
    expect(result).toMatchObject({ written: 1, failed: 0 });
  });

  test('a consent taken back ends in SOURCE_AUTH_ERROR with the provider’s own words', async () => {
    const connected = connect(oauth());
    await scanAll(connected);
    google.control.revokeConsent('ada@example.com');
    await expect(scanAll(connected)).rejects.toMatchObject({
      code: 'SOURCE_AUTH_ERROR',
      message: expect.stringContaining('Token has been expired or revoked'),
    });
  });

  test('a token endpoint that is down is an outage, not a refusal', async () => {
    google.control.setFaults([{ kind: 'unavailable', path: '/token' }]);
    await expect(scanAll(connect(oauth()))).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  });

  test('a broken key is a refusal, not a crash', async () => {
    const key = { client_email: 'x@shop.iam.gserviceaccount.com', private_key: 'not a key' };
    await expect(scanAll(connect({ type: 'service_account', key }))).rejects.toMatchObject({
      code: 'SOURCE_AUTH_ERROR',
    });
  });
});

describe('probe', () => {
  test('tells location, PITR and how far back reads reach', async () => {
    firestore.control.setPointInTimeRecovery({ project: 'shop', database: '(default)' }, true);
    const result = await connect(oauth()).source.probe();
    expect(result).toMatchObject({
      status: 'ok',
      info: { database: 'projects/shop/databases/(default)', pointInTimeRecovery: true },
    });
  });

  test('an emulator without an admin API is fine: every database keeps an hour', async () => {
    firestore.control.addFault({ method: 'GetDatabase', status: 'UNIMPLEMENTED' });
    const result = await connect(oauth()).source.probe();
    expect(result).toMatchObject({ status: 'ok', info: { locationId: undefined, pointInTimeRecovery: false } });
  });

  test('tells wrong credentials, a missing database and an outage apart', async () => {
    google.control.state.addPerson({ email: 'eve@example.com' });
    expect(await connect(oauth('eve@example.com')).source.probe()).toMatchObject({ status: 'unauthorized' });
    expect(await connect(oauth(), { databaseId: 'none' }).source.probe()).toMatchObject({ status: 'not_found' });
    const nobody = { endpoints: { ...google.endpoints, firestore: 'http://127.0.0.1:1' } };
    expect(await connect(oauth(), nobody).source.probe()).toMatchObject({ status: 'unavailable' });
  });
});

test('a server that restarts is found again', async () => {
  const connected = connect(oauth(), { retry: { attemptsMax: 40, delayBaseMs: 10, delayMaxMs: 50 } });
  await write(connected, [{ path: 'c/a', fields: fields(1) }]);
  const { port } = firestore;
  await firestore.stop();
  const ids = collect(connected.source.listCollectionIds('', { readTime: '2026-01-01T00:00:00.000000000Z' })).catch(
    (error) => error,
  );
  firestore = await startFirestoreSandbox({ port });
  expect(await ids).toMatchObject({ code: 'SNAPSHOT_TOO_OLD' });
  expect(await scanAll(connected)).toEqual([]);
});
