import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { untilEnded } from '../server/testing/protected-project.ts';
import { addMember } from '../server/testing/team.ts';
import { createProgram } from './program.ts';
import { apiKey, app, backUp, firestore, folder, holdfast, type Outcome, shop, useService } from './testing.ts';

useService();

/** Runs a command line at a terminal where this is typed; undefined: Ctrl-D. */
async function atTerminal(answer: string | undefined, ...words: string[]): Promise<Outcome> {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  terminal.end(answer === undefined ? '' : `${answer}\n`);
  const spy = vi.spyOn(process, 'stdin', 'get').mockReturnValue(terminal as never);
  try {
    return await holdfast(...words);
  } finally {
    spy.mockRestore();
  }
}

function* leavesOf(command: Command, way: string): Generator<[string, Command]> {
  if (command.commands.length === 0) yield [way, command];
  for (const nested of command.commands) yield* leavesOf(nested, `${way} ${nested.name()}`);
}

test('every command that deletes takes --yes, and asks without it', async () => {
  const programs = [await createProgram(['', '']), await createProgram(['', '', 'local'])];
  const deleting = programs
    .flatMap((program) => [...leavesOf(program, 'holdfast')])
    .filter(([way, { options }]) => {
      const isNamedSo = /(delete|remove|sweep|purge|migrate)[\w-]*$/.test(way);
      return isNamedSo || options.some(({ long }) => /^--(delete|purge)/.test(long ?? ''));
    });
  expect(deleting.map(([way]) => way)).toEqual(
    expect.arrayContaining([
      'holdfast backup delete',
      'holdfast project remove',
      'holdfast storage remove',
      'holdfast storage sweep',
      'holdfast storage purge',
      'holdfast storage migrate',
      'holdfast schedule delete',
      'holdfast restore start',
      'holdfast pitr restore',
      'holdfast pitr disable',
      'holdfast local delete',
      'holdfast local restore',
    ]),
  );
  const silent = deleting.filter(([, { options }]) => !options.some(({ long }) => long === '--yes'));
  expect(silent.map(([way]) => way)).toEqual([]);
});

test('without a terminal and without --yes nothing is deleted, and the exit code is that of wrong usage', {
  tags: 'long',
}, async () => {
  const backupId = await backUp('--collections', 'edge');
  await holdfast('schedule', 'add', 'Shop', 'Weekly', '0 2 * * 0');
  for (const words of [
    ['backup', 'delete', backupId],
    ['restore', backupId, '--delete-extra'],
    ['schedule', 'delete', 'Weekly', '--delete-backups'],
    ['project', 'remove', 'Shop', '--delete-backups'],
    ['storage', 'remove', 'Folder'],
    ['storage', 'sweep', 'Folder'],
    ['storage', 'purge', 'Folder'],
    ['storage', 'migrate', 'Folder', 'Folder'],
    ['pitr', 'disable', 'Shop', '--delete-log'],
    ['pitr', 'restore', 'Shop', '--at', '1 hours ago', '--delete-extra'],
  ]) {
    const refused = await holdfast(...words);
    expect(refused, words.join(' ')).toMatchObject({ code: 2, out: '' });
    expect(refused.error).toMatch(/\? .*nothing was done\.\nSay yes with --yes\./);
  }
  const log = await app.request('GET', '/api/v1/audit-logs?limit=200', {
    token: shop.owner.token,
    organizationId: shop.organizationId,
  });
  const actions = log.body.data.map(({ action }: { action: string }) => action);
  expect(actions).toContain('backup.created');
  expect(actions.filter((action: string) => /deleted|removed|sweep|purged|restore|pitr/.test(action))).toEqual([]);
  expect((await holdfast('backup', 'show', backupId)).code).toBe(0);
});

test('at a terminal it takes a typed y, and anything else, or the end of the input, changes nothing', async () => {
  const backupId = await backUp('--collections', 'edge');
  for (const answer of ['n', '', 'yeah', undefined]) {
    const kept = await atTerminal(answer, 'backup', 'delete', backupId);
    expect(kept, answer).toMatchObject({ code: 130, out: '' });
    expect(kept.error).toMatch(new RegExp(`Delete the full backup ${backupId} of \\S+, \\d+ documents\\? \\[y/N\\]`));
    expect(kept.error).toContain('Nothing was done.');
  }
  expect((await holdfast('backup', 'show', backupId)).code).toBe(0);
  expect(await atTerminal('Y', 'backup', 'delete', backupId)).toMatchObject({
    code: 0,
    out: 'The backup is deleted; its objects are being removed. A bucket that keeps versions hides them only.\n',
  });
  expect((await holdfast('backup', 'show', backupId)).code).toBe(5);
});

describe('unknown names are reported, with exit code 5', () => {
  const [user, orders] = ['people/ada', 'people/*/orders'];
  let whole: string;
  beforeAll(async () => {
    await firestore.doc(user).set({ born: 1815 });
    for (const path of [`${user}/orders/o1`, 'people/bob/orders/o2']) await firestore.doc(path).set({ n: 1 });
    whole = (await app.request('POST', '/api/v1/backups', { ...asOwner(), body: { projectId: shop.projectId } })).body
      .data.id;
    await untilEnded(app, `/api/v1/backups/${whole}`, asOwner());
  });
  const asOwner = () => ({ token: shop.owner.token, organizationId: shop.organizationId });

  test.each([
    [['backup', 'Shop', '--collections', 'nowhere', '--wait'], 'There are no documents in nowhere.'],
    [['backup', 'Shop', '--collections', 'nowhere', '--dry-run'], 'There are no documents in nowhere.'],
    [['restore', 'WHOLE', '--collections', 'people', 'nowhere', '--wait'], 'The backup holds nothing in nowhere.'],
    [['restore', 'WHOLE', '--documents', 'people/eve', '--wait'], 'The backup does not hold people/eve.'],
    [['restore', 'WHOLE', '--documents', 'people/eve', '--dry-run'], 'The backup does not hold people/eve.'],
    [['backup', 'export', 'WHOLE', '--collection', 'nowhere'], 'The backup holds nothing in nowhere.'],
    [['backup', 'browse', 'WHOLE', 'nowhere'], 'The backup holds nothing in nowhere.'],
    [['backup', 'get', 'WHOLE', 'people/eve'], 'no such document'],
  ])('by the service: %s', async (words, sentence) => {
    const result = await holdfast(...words.map((word) => (word === 'WHOLE' ? whole : word)));
    expect(result.code, result.error).toBe(5);
    expect(result.out + result.error).toContain(sentence);
  });

  test('one of several is a warning of the backup', async () => {
    const made = await holdfast('backup', 'Shop', '--collections', 'people', 'nowhere', '--wait');
    expect(made).toMatchObject({
      code: 0,
      out: expect.stringContaining('Warning: There are no documents in nowhere.'),
    });
  });

  test('without a service', async () => {
    vi.stubEnv('HOLDFAST_KEY', 'ab'.repeat(32));
    const store = ['--store', join(folder, 'local-store')];
    const local = (...words: string[]) => holdfast('local', ...words, ...store);
    const target = ['--project', 'nowhere-yet'];
    expect((await local('backup', '--project', 'shop', '--id', 'whole')).code).toBe(0);
    for (const [words, sentence] of [
      [['backup', '--project', 'shop', '-c', 'nowhere', '--id', 'none'], 'There are no documents in nowhere.'],
      [['restore', 'whole', ...target, '-c', 'people', 'nowhere'], 'The backup holds nothing in nowhere.'],
      [['restore', 'whole', ...target, '-c', 'nowhere', '--dry-run'], 'The backup holds nothing in nowhere.'],
      [['restore', 'whole', ...target, '--documents', user, 'people/eve'], 'The backup does not hold people/eve.'],
      [['export', 'whole', '-c', 'nowhere'], 'The backup holds nothing in nowhere.'],
      [['browse', 'whole', 'nowhere'], 'The backup holds nothing in nowhere.'],
      [['browse', 'whole', 'people/eve'], 'The backup does not hold people/eve.'],
      [['diff', 'whole', 'whole', '-c', 'nowhere'], 'Neither side holds anything in nowhere.'],
      [['diff', 'whole', 'live', '--project', 'shop', '-c', 'nowhere'], 'Neither side holds anything in nowhere.'],
      [['diff', 'whole', 'live', '--project', 'shop', '--exclude', 'peple'], 'Neither side holds anything in peple.'],
    ] as const) {
      const result = await local(...words);
      expect(result.code, words.join(' ')).toBe(5);
      expect(result.error).toContain(sentence);
    }
    const astray = await local('restore', 'whole', ...target, '-c', orders, '--documents', user);
    expect(astray).toMatchObject({
      code: 2,
      error: expect.stringContaining(`${user} lies in none of the collections`),
    });
    const { backups } = (await local('list', '--json')).json;
    expect(backups.map(({ backupId }: { backupId: string }) => backupId)).toEqual(['whole']);
    const elsewhere = { project: 'nowhere-yet', database: '(default)' };
    expect(shop.firestore.control.database(elsewhere).documentCount).toBe(0);
    const some = await local('backup', '--project', 'shop', '-c', 'people', 'nowhere');
    expect(some).toMatchObject({ code: 0, out: expect.stringContaining('! There are no documents in nowhere.') });
    expect((await local('export', 'whole', '-c', orders)).out.trimEnd().split('\n')).toHaveLength(2);
    expect((await local('browse', 'whole', orders, '--json')).json.documents).toHaveLength(2);
    expect((await local('restore', 'whole', ...target, '-c', orders, '--json')).json).toMatchObject({ written: 2 });
    expect((await local('backup', '--project', 'shop', '-c', orders, '--json')).json).toMatchObject({ documents: 2 });
  });

  test('a question before --delete-extra says how many documents are meant', async () => {
    await firestore.doc('people/new').set({ n: 1 });
    const words = [whole, '--collections', 'people', '--delete-extra'];
    const kept = await atTerminal('n', 'restore', ...words);
    expect(kept).toMatchObject({ code: 130, out: '' });
    expect(kept.error).toContain('Delete 1 document from the project of the backup that are not restored');
    expect((await firestore.doc('people/new').get()).exists).toBe(true);
    vi.stubEnv('HOLDFAST_KEY', 'ab'.repeat(32));
    const local = ['local', 'restore', 'whole', '--project', 'shop', '--store', join(folder, 'local-store')];
    const asked = await atTerminal('n', ...local, '-c', 'people', '--delete-extra');
    expect(asked.error).toMatch(/Delete 1 document from \S+ that are not restored\?/);
    await firestore.doc('people/new').delete();
  });

  test('collections in the form of our own lists are accepted everywhere', { tags: 'long' }, async () => {
    const tree = (await holdfast('backup', 'browse', whole)).out;
    expect(tree).toContain(orders);
    const part = await backUp('--collections', orders);
    expect((await holdfast('backup', 'show', part, '--json')).json).toMatchObject({ documentCount: 2 });
    expect((await holdfast('backup', 'export', whole, '--collection', orders)).out.trimEnd().split('\n')).toHaveLength(
      2,
    );
    expect((await holdfast('backup', 'browse', whole, orders, '--json')).json.documents).toHaveLength(2);
    await firestore.doc('people/bob/orders/o2').delete();
    for (const from of [whole, part]) {
      const preview = (await holdfast('restore', from, '--collections', orders, '--dry-run', '--json')).json;
      expect(preview.preview).toMatchObject({ create: 1, replace: 1, delete: 0 });
    }
    const counted = async (...words: string[]) =>
      (await holdfast('backup', 'Shop', '--dry-run', '--json', ...words)).json.documentCount;
    expect(await counted('--exclude', orders)).toBe((await counted()) - 1);
    const scheduled = await holdfast(
      'schedule',
      'add',
      'Shop',
      'Orders',
      '0 2 * * *',
      '--collections',
      orders,
      '--json',
    );
    expect(scheduled.json).toMatchObject({ collections: [orders] });
  });
});

test('only the owner is reminded of the recovery kit, until it was taken', async () => {
  const reminder = 'No recovery kit holds the key in use';
  expect((await holdfast('status')).error).toContain(reminder);
  vi.stubEnv('HOLDFAST_TOKEN', '');
  vi.stubEnv('HOLDFAST_API_KEY', apiKey);
  vi.stubEnv('HOLDFAST_ORGANIZATION', '');
  expect((await holdfast('status')).error).not.toContain(reminder);
  vi.stubEnv('HOLDFAST_TOKEN', shop.owner.token);
  vi.stubEnv('HOLDFAST_API_KEY', '');
  vi.stubEnv('HOLDFAST_ORGANIZATION', shop.organizationId);
  expect((await holdfast('recovery-kit', join(folder, 'kit.txt'))).code).toBe(0);
  expect((await holdfast('status')).error).not.toContain(reminder);
});

test('afterwards it says how many were deleted', { tags: 'long' }, async () => {
  await firestore.doc('extras/kept').set({ here: true });
  const backupId = await backUp('--collections', 'extras');
  for (const id of ['one', 'two']) await firestore.doc(`extras/${id}`).set({ id });
  const words = ['restore', backupId, '--collections', 'extras', '--delete-extra', '--wait'];
  const restored = await atTerminal('y', ...words);
  expect(restored.code, restored.error).toBe(0);
  expect(restored.error).toContain('Delete 2 documents from the project of the backup that are not restored');
  expect(restored.out).toMatch(/Deleted +2 documents/);
  expect((await firestore.collection('extras').get()).docs.map(({ id }) => id)).toEqual(['kept']);

  const added = await holdfast('schedule', 'add', 'Shop', 'Twice', '0 2 1 1 *', '--json');
  for (let run = 0; run < 2; run++) await holdfast('schedule', 'run', added.json.id, '--wait');
  const deleted = await holdfast('schedule', 'delete', 'Twice', '--delete-backups', '--yes');
  expect(deleted.out).toBe('The schedule was deleted; 2 backups went with it.\n');
  const { backups } = (await holdfast('backup', 'list', '--limit', '200', '--json')).json;
  const removed = await holdfast('project', 'remove', shop.projectId, '--delete-backups', '--yes');
  expect(removed.out, removed.error).toBe(`The project is disconnected; ${backups.length} backups are deleted.\n`);
});

// The last test of the file: the owner is an admin after it.
test('an organization is not handed over without a yes, because the former owner cannot take it back', async () => {
  const { id, email } = await addMember(app, shop.organizationId, 'admin');
  const handOver = ['member', 'role', email, 'owner'];
  const roleNow = async () => {
    const { members } = (await holdfast('member', 'list', '--json')).json;
    return members.find(({ userId }: Record<string, string>) => userId === id)?.role;
  };
  const refused = await holdfast(...handOver);
  expect(refused, refused.out).toMatchObject({ code: 2, out: '' });
  expect(refused.error).toMatch(new RegExp(`Make ${email} the owner\\? .*nothing was done\\.\nSay yes with --yes`));
  expect(await atTerminal('n', ...handOver)).toMatchObject({ code: 130, out: '' });
  expect(await roleNow()).toBe('admin');
  expect((await holdfast('member', 'role', email, 'member')).out).toBe(`${email} is member now.\n`);
  expect(await atTerminal('y', ...handOver)).toMatchObject({ code: 0, out: `${email} is owner now.\n` });
  expect(await roleNow()).toBe('owner');
});
