// @module-tag long
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../server/platform/database/embedded-postgres.ts';
import { createLogger } from '../../server/platform/log.ts';
import { connected } from '../../server/testing/connected.ts';
import { readDocument } from '../../server/testing/documentation.ts';
import { testMasterKey } from '../../server/testing/test-app.ts';
import { Checkout } from './testing/checkout.ts';
import { DocumentShell } from './testing/shell.ts';

/** Runs what docs/operations.md asks an administrator to do, on a PostgreSQL that never had Holdfast. */

let folder: string;
let checkout: Checkout;
let shell: DocumentShell;
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-operations-'));
  await chmod(folder, 0o755);
  server = await startEmbeddedPostgres({ folder, log: createLogger('silent'), unsafeFast: true });
  checkout = await Checkout.open();
  shell = await DocumentShell.open();
});
afterEach(async () => {
  await checkout.close();
  await shell.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const url = (user: string, password: string) => {
  const address = Object.assign(new URL(server.url), { username: user, password, pathname: '/acme' });
  return address.href;
};

test('roles made by an administrator are enough for a service that may create none itself', {
  timeout: 180_000,
}, async () => {
  const [, statements = ''] = /```sql\n([\s\S]*?)```/.exec(readDocument('docs/operations.md')) ?? [];
  expect(statements).toContain("password '…'");
  await connected(server.url, async (client) => {
    await client.query("create role owner login password 'owner' nocreaterole nosuperuser");
    await client.query('create database acme owner owner');
    await client.query(statements.replace('…', 'app'));
  });
  const settings = {
    PORT: '0',
    DATABASE_URL: url('owner', 'owner'),
    MASTER_KEY: testMasterKey,
    SHUTDOWN_GRACE_SECONDS: '1',
  };
  const refused = await checkout.run('npm start', settings).catch((error: Error) => error.message);
  expect(refused).toMatch(/^The role in DATABASE_URL may not create roles\..* as docs\/operations\.md says/m);
  expect(refused, 'one sentence without a stack').not.toMatch(/^ +at /m);
  const said = await checkout.keep('npm start', /^Sign in: \S+$/m, {
    ...settings,
    DATABASE_APP_URL: url('holdfast_login', 'app'),
  });
  const link = /^Sign in: (\S+)$/m.exec(said())?.[1];
  const login = await shell.run(
    `holdfast login '${link}' && holdfast webhook add Ops https://hooks.acme.test/ --events "*"`,
  );
  expect(login.code, login.error).toBe(0);
});
