// @module-tag long
import { readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { join } from 'node:path';
import { Firestore } from '@google-cloud/firestore';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { copyContract } from '../../server/testing/contract-copy.ts';
import { codeBlock, shellBlock } from '../../server/testing/documentation.ts';
import { clientId, clientSecret, startIdentityProvider } from '../../server/testing/identity-provider.ts';
import { startMailServer } from '../../server/testing/mail-server.ts';
import { protectProject } from '../../server/testing/protected-project.ts';
import { startTestApp, testMasterKey } from '../../server/testing/test-app.ts';
import { createTestDatabase } from '../../server/testing/test-database.ts';
import { reachesReceiver, testCertificate } from '../../server/testing/webhook-receiver.ts';
import { Checkout, freePort } from './testing/checkout.ts';
import { DocumentShell } from './testing/shell.ts';

/** Plays four strangers who only have README.md: its commands, in its order, none guessed. */

const page = 'README.md';
const installs = 'npm install';

/** The commands of a block, without its comments. `npm install` has already made the tree that runs this test. */
function commandsOf(name: string, most: number): string[] {
  const lines = shellBlock(page, name)
    .text.trimEnd()
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, ''));
  expect(lines.length, `commands of ${name}`).toBeLessThanOrEqual(most);
  return lines.filter((line) => line !== installs);
}

let checkout: Checkout;
let shell: DocumentShell;
beforeEach(async () => {
  checkout = await Checkout.open();
  shell = await DocumentShell.open();
});
afterEach(async () => {
  await checkout.close();
  await shell.close();
});

/** A command of the page in the shell; `npx holdfast` is the command line of this process. */
async function type(line: string, env: Record<string, string> = {}): Promise<string> {
  const { code, out, error } = await shell.run(line, env);
  expect(code, `${line}\n${out}${error}`).toBe(0);
  return out;
}

test('the demo works from start to finish', { timeout: 240_000 }, async () => {
  // `.ci/run` uses the first half of this line to install, and `npm test` is what runs this test.
  const [first, tests] = commandsOf('demo', 2) as [string, string];
  const [install, demo] = first.split(' && ');
  expect([install, tests]).toEqual([installs, 'npm test']);
  expect(await checkout.run(`${demo} -- --once`)).toMatch(/✓ See that the schedule fired by itself/);
});

test('a developer has a restored document in eight commands', async () => {
  const [start, box, login, ...rest] = commandsOf('developer', 8) as [string, string, string, ...string[]];
  const said = await checkout.keep(start, /^Sign in: \S+$/m, { PORT: '0' });
  const boxed = await checkout.keep(box.replace('8080', '0'), /FIRESTORE_EMULATOR_HOST=\S+\n/);
  const address = /FIRESTORE_EMULATOR_HOST=(\S+)/.exec(boxed())?.[1] as string;
  const link = /^Sign in: (\S+)$/m.exec(said())?.[1] as string;
  await type(login.replace(/"http[^"]+"/, `"${link}"`));

  const firestore = new Firestore({ projectId: 'demo', host: address, ssl: false });
  const document = firestore.doc('rooms/room 1');
  const before = (await document.get()).data();
  expect(before).toBeDefined();
  const restore = rest.pop() as string;
  for (const line of rest) await type(line.replace('127.0.0.1:8080', address));
  await document.delete();
  expect(await type(restore)).toMatch(/Restored +1 document/);
  expect((await document.get()).data()).toEqual(before);
  await firestore.terminate();
  // The same command without this process, with the Node that the machine has.
  expect(await checkout.run('npx holdfast --version')).toMatch(/^\d+\.\d+\.\d+$/m);
});

test('an integrator has the typed client and a webhook receiver in five commands', async () => {
  const [pack, install, ...rest] = commandsOf('integrator', 5) as [string, string, ...string[]];
  expect([pack, install]).toEqual(shellBlock('packages/contract/README.md', 'install').text.trimEnd().split('\n'));
  const house = join(checkout.folder, '../house');
  const there = join(checkout.folder, '../app');
  await copyContract(house);
  await checkout.run(`cd ${house} && ${pack}`);
  // The one dependency, which otherwise comes from the registry.
  const zod = `npm pack --silent --pack-destination .. ${join(import.meta.dirname, '../../../node_modules/zod')}`;
  const tarball = (await checkout.run(zod)).trim().split('\n').at(-1);
  await checkout.run(`cd ${house} && ${install} ../${tarball}`, { npm_config_offline: 'true' });

  const app = await startTestApp(reachesReceiver.environment, reachesReceiver.overrides);
  const shop = await protectProject(app);
  const port = await freePort();
  const proxy = await startTlsProxy(port);
  const env = {
    HOLDFAST_URL: app.address,
    HOLDFAST_TOKEN: shop.owner.token,
    HOLDFAST_ORGANIZATION: shop.organizationId,
  };
  const main = rest.pop() as string;
  for (const line of rest)
    await type(line.replace('https://app.example.com', proxy.address).replace('../app', there), env);

  const program = codeBlock(page, 'main.mjs').replace('http://127.0.0.1:8787', app.address);
  for (const name of ['main.mjs', 'main.mts']) await writeFile(join(there, name), program);
  const types = join(import.meta.dirname, '../../../node_modules/@types');
  const strict = `--strict --noEmit --singleThreaded --module nodenext --target es2022 --types node --typeRoots ${types}`;
  await checkout.run(`${join(types, '../.bin/tsc')} ${strict} ../app/main.mts`);
  const said = await checkout.keep(main, /^bkp_\w+$/m, { PORT: String(port) });
  await expect.poll(said).toMatch(/^backup\.completed$/m);
  const forged = await fetch(`http://127.0.0.1:${port}/hooks`, { method: 'POST', body: '{"type":"backup.failed"}' });
  expect([forged.status, said()]).toEqual([401, expect.not.stringContaining('backup.failed')]);
  proxy.close();
  await app.close();
  await shop.close();
});

/** The proxy in front of a receiver. */
async function startTlsProxy(port: number): Promise<{ address: string; close: () => void }> {
  const proxy = createHttpsServer(testCertificate, (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    incoming.pipe(
      request({ port, host: '127.0.0.1', method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      }).on('error', () => outgoing.destroy()),
    );
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = `https://localhost:${(proxy.address() as { port: number }).port}`;
  return { address, close: () => void proxy.close() };
}

test('an operator has their own PostgreSQL, two workers, a provider and mail in six commands', {
  timeout: 180_000,
}, async () => {
  const [copy, check, api, ...workers] = commandsOf('operator', 6) as [string, string, string, ...string[]];
  expect(workers).toHaveLength(2);
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const provider = await startIdentityProvider({ redirectUris: [`${base}/api/v1/auth/google/callback`] });
  const mail = await startMailServer();
  const database = await createTestDatabase();
  await checkout.run(copy);
  const settings: Record<string, string> = {
    BASE_URL: base,
    DATABASE_URL: database.url,
    MASTER_KEY: testMasterKey,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    SMTP_URL: mail.url,
    METRICS_TOKEN: 'a-long-token',
  };
  const file = join(checkout.folder, 'holdfast.env');
  const example = await readFile(file, 'utf8');
  for (const name of Object.keys(settings))
    expect(example, `${name} is in the example`).toMatch(new RegExp(`^${name}=`, 'm'));
  const fillIn = async (given: Record<string, string>) => {
    const filled = example.replace(/^(\w+)=.*$/gm, (line, name) => (name in given ? `${name}=${given[name]}` : line));
    await rm(file);
    await writeFile(file, filled);
    return await checkout.run(check);
  };
  expect(await fillIn({ ...settings, MASTER_KEY: '' })).toContain('MASTER_KEY: is empty');
  const checked = await fillIn(settings);
  expect(checked).toMatch(/SMTP_URL=\*{8}/);
  expect(checked).not.toContain('MASTER_KEY: is empty');
  const env = { SHUTDOWN_GRACE_SECONDS: '1', PORT: String(port) };
  await checkout.keep(api, /Holdfast is running at/, env);
  const logs: (() => string)[] = [];
  for (const line of workers)
    logs.push(await checkout.keep(line.replace(/PORT=\d+/, 'PORT=0'), /Holdfast is running at/));

  provider.account = { sub: '1', email: 'op@example.com', email_verified: true, name: 'Op' };
  const token = await signIn(base);
  const call = async (path: string, body: object, organizationId?: string) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(organizationId && { 'x-organization-id': organizationId }),
    };
    const response = await fetch(`${base}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.status, await response.clone().text()).toBe(201);
    return ((await response.json()) as { data: { id: string } }).data;
  };
  const { id } = await call('/organizations', { name: 'Acme' });
  await call('/organizations/current/invites', { email: 'new@example.com', role: 'viewer' }, id);
  // The mail is a job, and a worker has run it.
  await expect.poll(() => mail.received.map(({ to }) => to.join())).toEqual(['new@example.com']);
  await expect.poll(() => logs.map((log) => log()).join('')).toContain('"job":"send-mail"');
  await checkout.close();
  await provider.close();
  await mail.close();
  await database.drop();
});

/** Signs in as a browser does: to the provider, back with a code, and then with the cookies. */
async function signIn(base: string): Promise<string> {
  const jar = new Map<string, string>();
  let next = `${base}/api/v1/auth/google`;
  for (let hops = 0; hops < 12; hops++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s);
      jar.set(name, value);
    }
    const location = response.headers.get('location');
    if (jar.has('holdfast_access') || location === null) break;
    next = new URL(location, next).href;
  }
  return jar.get('holdfast_access') as string;
}
