import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { asOwner, signUp } from '../server/testing/people.ts';
import { app, backUp, firestore, folder, holdfast, shop, useService } from './testing.ts';

useService({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });

describe('the team', () => {
  test('is invited, listed, given roles and removed from the command line', async () => {
    const invited = await holdfast('member', 'invite', 'bob@example.com', '--role', 'viewer', '--json');
    expect(invited, invited.out).toMatchObject({ code: 0, json: { email: 'bob@example.com', role: 'viewer' } });
    expect((await holdfast('invitation', 'list')).out).toMatch(/inv_\S+ +bob@example\.com +viewer/);
    expect((await holdfast('member', 'invite', 'bob@example.com')).code).toBe(10);
    expect((await holdfast('invitation', 'cancel', 'bob@example.com', '--json')).json).toEqual({
      id: invited.json.id,
      cancelled: true,
    });
    expect(await holdfast('invitation', 'cancel', 'bob@example.com')).toMatchObject({ code: 5 });

    const carol = await signUp(app, 'carol@example.com');
    expect((await holdfast('member', 'invite', 'carol@example.com')).code).toBe(0);
    await expect.poll(() => app.logged()).toMatch(/carol@example\.com.*token=/);
    const body = { token: /carol@example\.com.*token=([\w.-]+)/.exec(app.logged())?.[1] };
    expect((await app.request('POST', '/api/v1/invitations/accept', { token: carol.token, body })).status).toBe(200);
    expect((await holdfast('member', 'role', 'carol@example.com', 'admin')).out).toBe(
      'carol@example.com is admin now.\n',
    );
    const { members } = (await holdfast('member', 'list', '--json')).json;
    expect(members.map(({ email, role }: Record<string, string>) => `${email} ${role}`)).toContain(
      'carol@example.com admin',
    );
    expect((await holdfast('member', 'remove', 'carol@example.com')).code).toBe(2);
    expect((await holdfast('member', 'remove', 'carol@example.com', '--yes')).code).toBe(0);
    expect(await holdfast('member', 'role', 'carol@example.com', 'viewer')).toMatchObject({ code: 5 });
  });

  test('has a service account whose key is shown once, alone on the output, and rotated with a grace period', async () => {
    expect((await holdfast('service-account', 'scopes')).out).toMatch(/backups:create +Create, import, cancel/);
    expect((await holdfast('service-account', 'show')).out).toMatch(/Scopes +backups:write/);
    const second = await holdfast('service-account', 'create', 'Second');
    expect([second.code, second.error]).toEqual([10, expect.stringContaining('`holdfast service-account rotate`')]);
    expect((await holdfast('service-account', 'delete')).code).toBe(2);
    expect((await holdfast('service-account', 'delete', '--yes')).code).toBe(0);
    expect((await holdfast('service-account', 'create', 'CI', '--scopes', 'backups:delet')).error).toContain(
      'There is no scope',
    );
    const created = await holdfast('service-account', 'create', 'CI', '--scopes', 'backups:create,projects:read');
    expect(created).toMatchObject({ code: 0, out: expect.stringMatching(/^fb_sa_\w+\n$/) });
    expect(created.error).toContain('may: backups:create, projects:read');
    const rotated = await holdfast('service-account', 'rotate', '--grace-seconds', '0', '--json');
    expect(rotated.json.apiKey).toMatch(/^fb_sa_/);
    vi.stubEnv('HOLDFAST_TOKEN', '');
    vi.stubEnv('HOLDFAST_ORGANIZATION', '');
    vi.stubEnv('HOLDFAST_API_KEY', created.out.trim());
    expect((await holdfast('project', 'list')).code).toBe(9);
    vi.stubEnv('HOLDFAST_API_KEY', rotated.json.apiKey);
    expect((await holdfast('project', 'list')).code).toBe(0);
    expect((await holdfast('storage', 'list')).error).toContain('storage:read');
  });
});

test('a secret whose answer was lost is reported as lost, and not as missing', { tags: 'long' }, async () => {
  const lost = async (...words: string[]) => {
    const real = globalThis.fetch;
    let isLost = false;
    vi.stubGlobal('fetch', async (input: string, init: RequestInit) => {
      const answer = await real(input, init);
      if (isLost || init.method !== 'POST') return answer;
      isLost = true;
      await answer.body?.cancel();
      return new Response('the connection to the service broke', { status: 503 });
    });
    try {
      return await holdfast(...words);
    } finally {
      vi.unstubAllGlobals();
    }
  };
  for (const words of [
    ['service-account', 'rotate'],
    ['webhook', 'add', 'Lost', 'https://example.com/'],
    ['webhook', 'rotate-secret', 'Lost'],
  ]) {
    const said = await lost(...words);
    expect(said, words.join(' ')).toMatchObject({ code: 6, out: '', error: expect.stringContaining('rotate') });
    expect(said.error).toContain('got lost on the way');
  }
  const result = await lost('service-account', 'rotate', '--json');
  expect(result).toMatchObject({ code: 6, json: { error: { code: 'SECRET_LOST' } } });
  expect((await holdfast('webhook', 'delete', 'Lost', '--yes')).code).toBe(0);
});

test('webhooks are added, tested, shown, retried, rotated and deleted from the command line', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const url = `https://127.0.0.1:${(closed.address() as { port: number }).port}/hook`;
  closed.close();
  const added = await holdfast('webhook', 'add', 'Ops', url, '--events', 'storage.*', '--header', 'X-Team: ops');
  expect(added).toMatchObject({ code: 0, out: expect.stringMatching(/^whsec_\S+\n$/) });
  expect(added.error).toMatch(/^whk_\w+: Ops is told of storage\.\*\.\n/);
  expect((await holdfast('webhook', 'list')).out).toMatch(/Ops +https:\S+ +standard +storage\.\* +on/);
  expect((await holdfast('webhook', 'show', 'Ops')).out).toMatch(/Headers +X-Team/);
  expect(await holdfast('webhook', 'test', 'Ops', '--event', 'storage.connected')).toMatchObject({
    code: 6,
    out: expect.stringMatching(/^storage\.connected not taken: .+ \(no answer, \d+ ms\)\n$/),
  });
  await holdfast('storage', 'add', 'Told', '--type', 'local', '--path', 'storage/told');
  await expect
    .poll(async () => (await holdfast('webhook', 'deliveries', 'Ops', '--json')).json.deliveries[0]?.attempts ?? 0)
    .toBeGreaterThan(0);
  const { deliveries } = (await holdfast('webhook', 'deliveries', 'Ops', '--json')).json;
  const [{ id }] = deliveries;
  expect((await holdfast('webhook', 'deliveries', 'Ops', '--event', deliveries[0].eventType)).out).toContain(id);
  expect((await holdfast('webhook', 'request', 'Ops', id)).out).toMatch(
    /^POST https:[\s\S]+x-service-signature: [\s\S]+ATTEMPT/i,
  );
  expect((await holdfast('webhook', 'retry', 'Ops', id)).code).toBe(0);
  expect((await holdfast('webhook', 'recover', 'Ops', '--since', '1 hour ago')).out).toMatch(
    /deliveries are sent again/,
  );
  expect((await holdfast('webhook', 'rotate-secret', 'Ops')).out).toMatch(/^whsec_/);
  expect((await holdfast('webhook', 'disable', 'Ops')).out).toBe('Ops is off.\n');
  expect((await holdfast('webhook', 'enable', 'Ops', '--json')).json.enabled).toBe(true);
  expect((await holdfast('webhook', 'delete', 'Opps', '--yes')).error).toContain('Did you mean Ops?');
  expect((await holdfast('webhook', 'delete', 'Ops')).code).toBe(2);
  expect((await holdfast('webhook', 'delete', 'Ops', '--yes')).code).toBe(0);
});

test('the encryption key is supplied, rotated and withdrawn, and the kit is taken, without a passphrase on any command line', {
  tags: 'long',
}, async () => {
  const file = join(folder, 'passphrase');
  await writeFile(file, 'correct horse battery staple\n');
  expect((await holdfast('encryption-key', 'show')).out).toMatch(/Whose +the service's/);
  expect((await holdfast('encryption-key', 'set')).error).toContain('--passphrase-file or --key-file');
  expect((await holdfast('encryption-key', 'set', '--passphrase-file', file)).out).toMatch(
    /Whose +yours\nKind +passphrase/,
  );
  const id = await backUp('--collections', 'edge');
  expect((await holdfast('encryption-key', 'rotate')).out).toMatch(/^The keys of \d+ backups are re-wrapped/);
  const kit = join(folder, 'kit.txt');
  expect((await holdfast('recovery-kit', kit)).code).toBe(0);
  expect(await readFile(kit, 'utf8')).toMatch(/^key /m);
  const again = await holdfast('recovery-kit', kit);
  expect([again.code, again.error]).toEqual([
    2,
    `FILE_ERROR: The file ${kit} is there already; it is never written over.\nName another file.\n`,
  ]);
  expect((await holdfast('encryption-key', 'withdraw')).code).toBe(2);
  expect((await holdfast('encryption-key', 'withdraw', '--yes')).code).toBe(0);
  expect((await holdfast('backup', 'browse', id, 'edge')).code).toBe(4);
  await holdfast('encryption-key', 'set', '--passphrase-file', file);
  expect((await holdfast('backup', 'browse', id, 'edge')).code).toBe(0);
});

test('a destination is changed in place, and a new address needs credentials', async () => {
  await holdfast('storage', 'add', 'Shelf', '--type', 'local', '--path', 'storage/shelf');
  expect((await holdfast('storage', 'update', 'Shelf')).error).toContain('Say what to change.');
  const updated = await holdfast('storage', 'update', 'Shelf', '--name', 'Cupboard', '--default', '--json');
  expect(updated).toMatchObject({ code: 0, json: { name: 'Cupboard', isDefault: true } });
  expect((await holdfast('storage', 'update', 'Cupboard', '--region', 'eu-central-1')).code).toBe(2);
  expect((await holdfast('storage', 'update', 'Folder', '--default', '--json')).json.isDefault).toBe(true);
  expect((await holdfast('storage', 'show', 'Cupboard')).out).toMatch(/Default +no/);
});

test('lists show what started a backup, and latest is the newest whole one of its own project', {
  tags: 'long',
}, async () => {
  const whole = await backUp();
  await backUp('--collections', 'edge');
  await backUp('--exclude', 'edge');
  const other = await holdfast(
    'project',
    'add',
    'Shop',
    '--source',
    'other',
    '--emulator',
    shop.firestore.address,
    '--json',
  );
  expect((await holdfast('backup', other.json.id, '--wait')).code).toBe(0);
  expect((await holdfast('backup', 'show', `latest:${shop.projectId}`, '--json')).json.id).toBe(whole);
  const twice = await holdfast('backup', 'show', 'latest:Shop');
  expect(twice.code).toBe(2);
  expect(twice.error).toContain(`${other.json.id}  other, database (default)`);
  expect((await holdfast('backup', 'show', 'latest')).error).toContain('latest:<project>');
  expect((await holdfast('backup', 'list', '--trigger', 'manual')).out).toMatch(
    /full +manual +completed .* Shop \(other\)$/m,
  );
  await holdfast('project', 'remove', other.json.id, '--delete-backups', '--yes');
  expect((await holdfast('backup', 'lst')).error).toContain('Did you mean `holdfast backup list`?');
  expect((await holdfast('project', 'show', 'Shpo')).error).toContain('Did you mean Shop?');
});

test('an auditor lists, verifies and exports the log, and the exit code says whether it was changed', async () => {
  const invited = await holdfast('member', 'invite', 'eve@example.com', '--json');
  const listed = await holdfast('audit', 'list', '--action', 'invitation.created', '--limit', '1');
  expect(listed.out).toContain(invited.json.id);
  expect(await holdfast('audit', 'verify')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Whole: \d+ entries/),
  });
  const file = join(folder, 'audit.ndjson');
  expect((await holdfast('audit', 'export', '-o', file)).out).toMatch(/^Wrote [\d.]+ kB to /);
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).resource.id)).toContain(invited.json.id);
  expect((await holdfast('audit', 'export', '--format', 'csv')).out).toContain(invited.json.id);
  await asOwner(app.databaseUrl, (client) =>
    client.query(`update audit_logs set details = '{}' where resource_id = $1`, [invited.json.id]),
  );
  expect(await holdfast('audit', 'verify')).toMatchObject({ code: 3, out: expect.stringMatching(/^Broken at aud_/) });
});

test('a search finds text in ids and in any string of a document, in upper or lower case, page after page', async () => {
  await firestore.doc('notes/a').set({ deep: [{ title: 'The LIGHTHOUSE keeper' }] });
  await firestore.doc('notes/lighthouse').set({ n: 1 });
  await firestore.doc('notes/b').set({ title: 'Nothing' });
  const id = await backUp();
  const found = await holdfast('backup', 'browse', id, '--search', 'lighthouse', '--json');
  expect(found.json.documents.map(({ path }: { path: string }) => path)).toEqual(['notes/a', 'notes/lighthouse']);
  const first = await holdfast('backup', 'browse', id, 'notes', '--search', 'Lighthouse', '--limit', '1', '--json');
  expect(first.json).toMatchObject({ documents: [{ path: 'notes/a' }], hasMore: true });
  expect((await holdfast('backup', 'browse', id, '--search', 'no such text')).out).toBe('There are none.\n');
});
