// @module-tag long
import { join } from 'node:path';
import { createS3Store } from '@holdfast/engine';
import { sandboxS3Credential } from '@holdfast/sandbox';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ShellBlock, shellBlocks } from '../../server/testing/documentation.ts';
import { openWorld, type World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** Replaces a placeholder of a page with a value of this test; an unknown word is passed to the command as it is. */
type Adapt = (text: string) => string | Promise<string>;

/** In the order of their use; each may first create what the command needs. */
const adaptations: readonly [RegExp, Adapt][] = [
  [
    /'http:\/\/localhost:8787\/auth\/local\?token=…'/,
    async (text) => text.replace(/'http[^']+'/, `'${await world.app.newSignInLink()}'`),
  ],
  [/https:\/\/backups\.acme\.test/, (text) => text.replace('https://backups.acme.test', world.app.address)],
  [/AWS_\w+=…/, (text) => text.replace('AWS_ACCESS_KEY_ID=…', '').replace('AWS_SECRET_ACCESS_KEY=…', '')],
  [/--access-key-id …/, (text) => text.replace('…', sandboxS3Credential.accessKeyId)],
  [
    /storage add \w+ --type (s3|spaces)/,
    (text) => `${text.trimEnd().replace(/ #.*/, '')} --endpoint ${world.s3.endpoint} --force-path-style`,
  ],
  [/--region fra1/, (text) => text.replace('fra1', 'eu-central-1')],
  [/--target Staging/, (text) => staging().then(() => text)],
  [/backup import old\//, (text) => legacyFile().then(() => text)],
  [/backup cancel bkp_…/, async (text) => text.replace('bkp_…', await slowBackup())],
  [/backup delete bkp_…/, async (text) => text.replace('bkp_…', await newBackup(['orders'], 'Google'))],
  [/bkp_…/, async (text) => text.replaceAll('bkp_…', await goodBackup())],
  [/restore cancel rst_…/, async (text) => text.replace('rst_…', await slowRestore())],
  [/restore resume rst_…/, async (text) => text.replace('rst_…', await brokenRestore())],
  [/rst_…/, async (text) => text.replace('rst_…', await newRestore())],
  [/dlv_…/, async (text) => text.replace('dlv_…', await newDelivery())],
  [
    /https:\/\/hooks\.acme\.test/,
    (text) => text.replace('https://hooks.acme.test', `https://127.0.0.1:${world.s3.port}`),
  ],
  [/pitr history/, (text) => coveredMoment().then(() => text)],
  [
    /pitr (restore|browse|get|diff|export) .*--at ("[^"]+"|\S+)/,
    async (text) => text.replace(/--at ("[^"]+"|\S+)/, `--at ${await coveredMoment()}`),
  ],
  [/member (role|remove) ada@acme\.test/, (text) => joined().then(() => text)],
];

/** Commands that are expected to end with another code than 0. */
const endings: readonly [RegExp, readonly number[]][] = [
  [/(backup|pitr) diff/, [0, 8]],
  // Nothing listens there, and the command says so.
  [/webhook test/, [6]],
  // Nothing is frozen, and the command says so.
  [/retention unfreeze/, [10]],
];

/** Into the default destination, whose locks protect it, or into another one. */
async function newBackup(collections = ['*'], storage?: string): Promise<string> {
  const projectId = await shopId();
  const { data } = await world.client.listStorageDestinations({ query: {} });
  const storageDestinationId = data.find(({ name }) => name === storage)?.id;
  const body = { projectId, collections, ...(storageDestinationId && { storageDestinationId }) };
  const { id } = await world.client.createBackup({ body });
  await ended(async () => (await world.client.getBackup({ params: { backupId: id } })).status);
  return id;
}

/** What another tool left in the bucket. */
async function legacyFile(): Promise<void> {
  const store = await createS3Store({
    kind: 's3',
    bucket: 'acme-backups',
    region: 'eu-central-1',
    endpoint: world.s3.endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId: world.env.AWS_ACCESS_KEY_ID, secretAccessKey: world.env.AWS_SECRET_ACCESS_KEY },
  });
  await store.put('old/shop.json', Buffer.from('{"users":{"ada":{"name":"Ada"}}}'));
  const line = { name: 'projects/shop/databases/(default)/documents/users/ada', fields: {} };
  await store.put('old/users.ndjson', Buffer.from(`${JSON.stringify(line)}\n`));
  await store.close();
}

let kept: Promise<string> | undefined;

/** One backup for all the commands that only read it. */
function goodBackup(): Promise<string> {
  kept ??= newBackup();
  return kept;
}

let stagings = 0;

/** Another project, whose database is empty. */
async function staging(): Promise<void> {
  const { data } = await world.client.listProjects({ query: {} });
  for (const { id, name } of data)
    if (name === 'Staging') await world.client.deleteProject({ params: { projectId: id }, query: {} });
  const connection = { type: 'service_account' as const, key: world.key };
  const databaseId = `staging-${++stagings}`;
  await world.client.createProject({ body: { name: 'Staging', sourceProjectId: 'acme-logs', databaseId, connection } });
}

async function shopId(): Promise<string> {
  const { data } = await world.client.listProjects({ query: {} });
  return data.find(({ name }) => name === 'Shop')!.id;
}

async function ended(status: () => Promise<string>): Promise<void> {
  await expect.poll(status).toMatch(/completed|failed|cancelled/);
}

async function slowBackup(): Promise<string> {
  world.sandbox.control.addFault({ method: 'RunQuery', latencyMs: 5000, times: 1 });
  return (await world.client.createBackup({ body: { projectId: await shopId() } })).id;
}

async function newRestore({ wait = true, safetyBackup = true } = {}): Promise<string> {
  const backupId = await goodBackup();
  const body = { backupId, options: { safetyBackup } };
  const { id } = await world.client.startRestore({ body });
  if (wait) await ended(async () => (await world.client.getRestore({ params: { restoreJobId: id } })).status);
  return id;
}

async function slowRestore(): Promise<string> {
  world.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 5000, times: 1 });
  return await newRestore({ wait: false, safetyBackup: false });
}

async function brokenRestore(): Promise<string> {
  world.sandbox.control.deny({ project: 'acme-shop', access: 'write' });
  try {
    return await newRestore({ safetyBackup: false });
  } finally {
    world.sandbox.control.clearAccess();
  }
}

async function newDelivery(): Promise<string> {
  const webhookId = (await world.client.listWebhooks({ query: {} })).data[0]!.id;
  const deliveries = async () =>
    (await world.client.listDeliveries({ params: { webhookId }, query: {} })).data.deliveries;
  if ((await deliveries()).length === 0) await newBackup(['orders']);
  await expect.poll(async () => (await deliveries()).length).toBeGreaterThan(0);
  return (await deliveries())[0]!.id;
}

async function coveredMoment(): Promise<string> {
  const projectId = await shopId();
  const pitr = async () => await world.client.getPitr({ params: { projectId } });
  await expect.poll(async () => (await pitr()).coveredTo).not.toBeNull();
  return (await pitr()).coveredTo!;
}

async function joined(): Promise<void> {
  const { data } = await world.client.listMembers({ query: {} });
  if (data.some(({ email }) => email === world.ada.email)) return;
  const { id } = await world.client.createInvitation({ body: { email: world.ada.email, role: 'member' } });
  await expect.poll(() => world.app.logged()).toMatch(/ada@acme\.test.*token=/);
  const token = /ada@acme\.test.*token=([\w.-]+)/.exec(world.app.logged())![1]!;
  const answer = await world.app.request('POST', '/api/v1/invitations/accept', {
    token: world.ada.token,
    body: { token },
  });
  expect([id, answer.status], answer.text).toEqual([id, 200]);
}

/** Creates what earlier blocks of the page have made, so that a block can run alone. */
beforeEach(async () => {
  world.sandbox.control.clearFaults();
  const { data: projects } = await world.client.listProjects({ query: {} });
  const connection = { type: 'service_account' as const, key: world.key };
  if (
    !projects.some(({ name }) => name === 'Shop') &&
    expect.getState().currentTestName?.match(/sign-in|projects/) === null
  )
    await world.client.createProject({ body: { name: 'Shop', sourceProjectId: 'acme-shop', connection } });
});

const statements = ({ text }: ShellBlock) =>
  text
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');

async function runStatement(statement: string, block: ShellBlock): Promise<void> {
  let adapted = statement;
  for (const [pattern, adapt] of adaptations) if (pattern.test(adapted)) adapted = await adapt(adapted);
  expect(adapted.replace(/ #.*$/, ''), 'nothing is left to fill in').not.toContain('…');
  const isSigningIn = block.name === 'sign-in';
  const { HOLDFAST_URL: _url, HOLDFAST_TOKEN: _token, HOLDFAST_ORGANIZATION: _organization, ...bare } = world.env;
  const ran = await world.shell.run(adapted, isSigningIn ? { ...bare, BROWSER: 'browser' } : world.env);
  const [, expected] = endings.find(([pattern]) => pattern.test(statement)) ?? [null, [0]];
  expect(expected, `${block.document}:${block.line} ${adapted}\n${ran.out}${ran.error}`).toContain(ran.code);
  expect(ran.error, adapted).not.toMatch(/^\s+at /m);
}

const pages = ['docs/cli.md', 'docs/pitr.md'];
test.for(pages.flatMap(shellBlocks).map((block) => [block.document, block.name, block] as const))(
  'every command of %s, %s, does what the page says',
  { timeout: 120_000 },
  async ([, , block]) => {
    if (block.name === 'sign-in') await secrets();
    if (block.name === 'team') await world.client.deleteServiceAccount();
    for (const statement of statements(block)) await runStatement(statement, block);
    // Backups under the passphrase cannot be read after this block, but later pages read them.
    if (block.name === 'keys')
      await runStatement('holdfast encryption-key set --passphrase-file passphrase.txt', block);
  },
);

/** The `pass show …` of this reader, and a browser in which somebody signs in. */
async function secrets(): Promise<void> {
  const module = join(import.meta.dirname, '../../server/testing/browser.ts');
  const program = `import { TestBrowser } from '${module}'; await new TestBrowser(' ', '').open(process.argv[1]);`;
  await world.shell.install('browser', `exec "${process.execPath}" --input-type=module -e "${program}" "$1"`);
  const account = await world.client.createServiceAccount({ body: { name: 'Reader' } });
  const link = (await world.app.newSignInLink()) as string;
  const { headers } = await fetch(link, { redirect: 'manual', headers: { 'sec-fetch-mode': 'cors' } });
  const refresh = /holdfast_refresh=([^;]+)/.exec(headers.getSetCookie().join('\n'))?.[1];
  await world.shell.install(
    'pass',
    `case "$2" in
      holdfast) echo '${account.apiKey}' ;;
      holdfast-refresh) echo '${refresh}' ;;
      spaces) echo '${sandboxS3Credential.secretAccessKey}' ;;
    esac`,
  );
}
