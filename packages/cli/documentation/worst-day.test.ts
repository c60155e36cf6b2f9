import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Firestore } from '@google-cloud/firestore';
import { createS3Store } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../server/testing/backup-bench.ts';
import { shellBlock, shellBlocks } from '../../server/testing/documentation.ts';
import { foundOrganization, signUp } from '../../server/testing/people.ts';
import { untilEnded } from '../../server/testing/protected-project.ts';
import { startTestApp, type TestApp, testMasterKey } from '../../server/testing/test-app.ts';
import { DocumentShell } from './testing/shell.ts';

const environment = { ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' };
const passphrase = 'correct horse battery staple';
const main = join(import.meta.dirname, '../main.ts');

let bench: BackupBench;
let s3: S3Sandbox;
let shell: DocumentShell;
let kit: string;
const backups: Record<'service' | 'passphrase', string[]> = { service: [], passphrase: [] };
const contents = new Map<string, string>();

/** One bucket under the service's key, one under a passphrase; then the service is gone. */
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['service', 'passphrase'] });
  shell = await DocumentShell.open();
  bench = await startBackupBench(environment);
  await bench.firestore.doc('users/ada').set({ n: 1 });
  await backUpInto('service');
  const taken = await bench.app.request('POST', '/api/v1/organizations/current/recovery-kit', bench.as);
  expect(taken.status, taken.text).toBe(200);
  kit = taken.text;
  const key = await bench.app.request('PUT', '/api/v1/organizations/current/encryption-key', {
    ...bench.as,
    body: { passphrase },
  });
  expect(key.status, key.text).toBe(200);
  await backUpInto('passphrase');
  await writeFile(join(shell.folder, 'master.key'), testMasterKey);
  await writeFile(join(shell.folder, 'passphrase.txt'), `${passphrase}\n`);
  await writeFile(join(shell.folder, 'recovery-kit.txt'), kit);
  // `npm install` has already made what runs this test, so it only checks the arguments.
  await shell.install('npm', 'test "$1" = install');
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
  await shell.close();
});

const destinationOf = (bucket: string) => ({
  name: bucket,
  type: 's3',
  bucket,
  endpoint: s3.endpoint,
  forcePathStyle: true,
  prefix: 'holdfast',
  credentials: { ...sandboxS3Credential },
});

async function backUpInto(bucket: 'service' | 'passphrase') {
  const body = destinationOf(bucket);
  const created = await bench.app.request('POST', '/api/v1/storage-destinations', { ...bench.as, body });
  expect(created.status, created.text).toBe(201);
  const storageDestinationId = created.body.data.id;
  for (const type of ['full', 'incremental']) {
    await bench.firestore.doc(`users/${bucket}-${type}`).set({ n: 1 });
    const id = await bench.backUp({ type, storageDestinationId });
    backups[bucket].push(id);
    contents.set(id, (await bench.app.request('GET', `/api/v1/backups/${id}/export`, bench.as)).text);
  }
}

interface NewServer {
  app: TestApp;
  as: { token: string; organizationId: string };
}

async function onNewServer(masterKey: string, work: (server: NewServer) => Promise<void>) {
  const app = await startTestApp({ ...environment, MASTER_KEY: masterKey });
  try {
    const owner = await signUp(app, 'again@example.com');
    await work({ app, as: { token: owner.token, organizationId: await foundOrganization(app, owner) } });
  } finally {
    await app.close();
  }
}

async function rescan({ app, as }: NewServer, bucket: string) {
  const created = await app.request('POST', '/api/v1/storage-destinations', { ...as, body: destinationOf(bucket) });
  const path = `/api/v1/storage-destinations/${created.body.data.id}/rescan`;
  const started = await app.request('POST', path, as);
  expect(started.status, started.text).toBe(202);
  return untilEnded(app, started.headers.get('location') as string, as);
}

async function expectReadable({ app, as }: NewServer, ids: readonly string[]) {
  for (const id of ids) {
    expect((await app.request('GET', `/api/v1/backups/${id}/export`, as)).text, id).toBe(contents.get(id));
    const verified = await app.request('POST', `/api/v1/backups/${id}/verify`, as);
    expect(verified.status, verified.text).toBe(202);
  }
}

const worstDay = 'docs/recovery.md';
const ran = new Set<string>();

const bucketKeys = {
  AWS_ACCESS_KEY_ID: sandboxS3Credential.accessKeyId,
  AWS_SECRET_ACCESS_KEY: sandboxS3Credential.secretAccessKey,
};

/** Runs the commands of one block of the page, in a shell that has the bucket and one secret. */
async function runBlock(name: string, variables: Record<string, string>, page = worstDay): Promise<string> {
  ran.add(`${page}#${name}`);
  const environment = { METADATA_SERVER_DETECTION: 'none', ...bucketKeys, ...variables };
  const { code, out, error } = await shell.run(shellBlock(page, name).text, environment);
  expect(code, `${out}\n${error}`).toBe(0);
  return out;
}

const storeOf = (bucket: string) => `s3://${bucket}/holdfast?region=us-east-1&endpoint=${s3.endpoint}`;

async function expectRestored(project: string, newest: string) {
  const firestore = new Firestore({ projectId: project });
  const { docs } = await firestore.collection('users').get();
  await firestore.terminate();
  const expected = (contents.get(newest) as string).trimEnd().split('\n').length;
  expect(docs).toHaveLength(expected);
}

test('the keys of a living organization cannot be used by others who have the bucket', async () => {
  const owner = await signUp(bench.app, 'stranger@example.com');
  const as = { token: owner.token, organizationId: await foundOrganization(bench.app, owner) };
  const task = await rescan({ app: bench.app, as }, 'service');
  expect(task).toMatchObject({ status: 'completed', result: { registered: 0 } });
  const keys = await bench.app.platform.database.tenant(as.organizationId, async ({ client }) => {
    const { rows } = await client.query('select count(*)::int as count from organization_keys');
    return rows[0].count;
  });
  expect(keys).toBe(1);
});

test('every destination contains the keys, and a new server with the master key has every backup back', async () => {
  await onNewServer(testMasterKey, async (server) => {
    for (const bucket of ['service', 'passphrase'] as const) {
      const task = await rescan(server, bucket);
      expect(task.result, JSON.stringify(task.error)).toMatchObject({ registered: 2, failures: [] });
      await expectReadable(server, backups[bucket]);
    }
  });
});

test('without the master key nothing opens and the error says so, and the passphrase opens its own backups, by the salt of each', {
  tags: 'long',
}, async () => {
  await onNewServer(randomBytes(32).toString('base64'), async (server) => {
    const locked = await rescan(server, 'passphrase');
    expect(locked).toMatchObject({ status: 'failed', error: { code: 'DECRYPTION_ERROR' } });
    expect(locked.error.message).toContain('another master key');
    const path = '/api/v1/organizations/current/encryption-key';
    await server.app.request('PUT', path, { ...server.as, body: { passphrase } });
    const task = await rescan(server, 'passphrase');
    expect(task.result, JSON.stringify(task.error)).toMatchObject({ registered: 2, failures: [] });
    await expectReadable(server, backups.passphrase);
  });
});

test.each([
  ['master-key', 'service'],
  ['kit', 'service'],
  ['master-key', 'passphrase'],
  ['passphrase', 'passphrase'],
] as const)(
  'the page of the worst day holds for the command line alone: %s, bucket of the %s',
  { tags: 'long' },
  async (block, bucket) => {
    const project = `again-${block}-${bucket}`;
    const out = await runBlock(block, {
      STORE: storeOf(bucket),
      PROJECT: project,
      FIRESTORE_EMULATOR_HOST: bench.sandbox.address,
    });
    expect(out).toContain(backups[bucket][0]);
    expect(out).toContain('Intact');
    await expectRestored(project, backups[bucket][1] as string);
  },
);

test('the page of the worst day works for a new server: with the master key, and with the passphrase', {
  tags: 'long',
}, async () => {
  const variables = ({ app, as }: NewServer, Bucket: string) => ({
    HOLDFAST_URL: app.address,
    HOLDFAST_TOKEN: as.token,
    HOLDFAST_ORGANIZATION: as.organizationId,
    BUCKET: Bucket,
    PREFIX: 'holdfast',
    ENDPOINT: s3.endpoint,
  });
  await onNewServer(testMasterKey, async (server) => {
    expect(await runBlock('server', variables(server, 'service'))).toContain(backups.service[0]);
    await expectReadable(server, backups.service);
  });
  await onNewServer(randomBytes(32).toString('base64'), async (server) => {
    expect(await runBlock('server-passphrase', variables(server, 'passphrase'))).toContain('registered 2');
    await expectReadable(server, backups.passphrase);
  });
});

test('the command line reports a wrong master key or kit: exit code 4, never an empty bucket', async () => {
  const environment = { ...bucketKeys, MASTER_KEY: randomBytes(32).toString('base64') };
  const verify = (more = '') =>
    shell.run(`holdfast local verify latest --store '${storeOf('service')}' ${more}`, environment);
  const wrong = await verify();
  expect([wrong.code, wrong.out + wrong.error]).toEqual([4, expect.stringContaining('another master key')]);
  const foreign = kit.replace(/^(key \S+ service) \S+/gm, `$1 ${randomBytes(32).toString('base64')}`);
  await writeFile(join(shell.folder, 'foreign-kit.txt'), foreign);
  expect((await verify('--kit-file foreign-kit.txt')).code).toBe(4);
});

test('the worst day takes two commands, as README.md says, in a separate process', async () => {
  await shell.install('holdfast', `exec "${process.execPath}" "${main}" "$@"`);
  const commands = shellBlock('README.md', 'disaster').text.trimEnd().split('\n');
  expect(commands).toHaveLength(2);
  expect(commands[0]).toBe('npm install');
  const variables = { STORE: storeOf('service'), PROJECT: 'disaster', FIRESTORE_EMULATOR_HOST: bench.sandbox.address };
  await runBlock('disaster', variables, 'README.md');
  await expectRestored('disaster', backups.service[1] as string);
});

test('every block of the page was run', { tags: 'long' }, () => {
  for (const { name } of shellBlocks(worstDay)) expect(ran).toContain(`${worstDay}#${name}`);
});

test('the kit is for the owner and audited, and a passphrase that is set later requires a new kit', async () => {
  expect(kit).toContain('holdfast local restore latest');
  expect(kit).not.toContain(sandboxS3Credential.secretAccessKey);
  expect((await bench.get('/organizations/current')).recoveryKitTakenAt).toBeNull();
  const { body } = await bench.app.request(
    'GET',
    '/api/v1/audit-logs?action=organization.recovery_kit_taken',
    bench.as,
  );
  expect(body.data).toHaveLength(1);
});

test('a withdrawn key is removed from the destinations too, and a purge removes the keys first', async () => {
  const store = await createS3Store({
    kind: 's3',
    bucket: 'passphrase',
    prefix: 'holdfast',
    region: 'us-east-1',
    endpoint: s3.endpoint,
    forcePathStyle: true,
    credentials: { ...sandboxS3Credential },
  });
  const names = async () => {
    const keys: string[] = [];
    for await (const { key } of store.list(`keys/${bench.as.organizationId}/`)) keys.push(key);
    return keys;
  };
  const before = await names();
  expect(before).toHaveLength(1);
  await bench.app.request('DELETE', '/api/v1/organizations/current/encryption-key', bench.as);
  await expect.poll(names).not.toEqual(before);
  await expect.poll(async () => (await names()).length).toBe(1);
  const { name } = await bench.get('/organizations/current');
  const body = { confirmName: name, force: true };
  await bench.app.request('POST', '/api/v1/organizations/current/delete', { ...bench.as, body });
  await expect.poll(names).toEqual([]);
  await store.close();
});
