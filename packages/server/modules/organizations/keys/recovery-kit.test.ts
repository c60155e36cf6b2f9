import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { asOwner, foundOrganization, signUp } from '../../../testing/people.ts';
import { startTestApp } from '../../../testing/test-app.ts';

test('a replayed kit contains no keys and says so, and is not stored with them', async () => {
  const app = await startTestApp();
  const owner = await signUp(app, 'owner@example.com');
  const as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
  const take = (key: string) =>
    app.request('POST', '/api/v1/organizations/current/recovery-kit', { ...as, headers: { 'idempotency-key': key } });
  const first = await take('once');
  const [, secret] = /^key \S+ \S+ (\S{40,})/m.exec(first.text) ?? [];
  expect([first.status, secret]).toEqual([200, expect.any(String)]);
  const again = await take('once');
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
  expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
  expect(again.text).toMatch(/^No recovery kit: .*Take a new one/);
  expect(again.text).not.toMatch(/^key /m);
  const another = await take('another');
  expect([another.headers.get('idempotency-replayed'), another.text.includes(secret!)]).toEqual([null, true]);
  const kept = await asOwner(app.databaseUrl, (client) => client.query('select body from idempotency_keys'));
  expect(kept.rows).toEqual([{ body: again.text }, { body: again.text }]);
  await app.close();
});

test('the commands of a recovery kit name each destination as it is called, and run nothing else', async () => {
  const app = await startTestApp();
  const owner = await signUp(app, 'owner@example.com');
  const as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
  const path = "ada's $(echo run) folder";
  const body = { name: 'Folder', type: 'local', path };
  const made = await app.request('POST', '/api/v1/storage-destinations', { ...as, body });
  expect(made.status, made.text).toBe(201);
  const kit = await app.request('POST', '/api/v1/organizations/current/recovery-kit', as);
  const commands = kit.text.split('\n').filter((line) => line.startsWith('holdfast '));
  expect(commands).toHaveLength(2);
  for (const command of commands) {
    const words = execFileSync('sh', ['-c', command.replace('holdfast', "printf '%s\\n'")], { encoding: 'utf8' });
    const store = words.split('\n')[words.split('\n').indexOf('--store') + 1];
    expect(store?.endsWith(path), store).toBe(true);
  }
  await app.close();
});
