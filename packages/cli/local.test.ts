import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { loadSample, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ProgressBar } from './progress.ts';
import { type Outcome, holdfast as runHoldfast } from './testing.ts';

let folder: string;
let sandbox: Awaited<ReturnType<typeof startFirestoreSandbox>>;

/** Runs `holdfast local …` with nothing but a store and a database. */
async function holdfast(...words: string[]): Promise<Outcome> {
  const store = words[0] === 'keygen' || words.includes('--store') ? [] : ['--store', join(folder, 'store')];
  vi.stubEnv('HOLDFAST_KEY', '');
  vi.stubEnv('HOLDFAST_PASSPHRASE', '');
  vi.stubEnv('MASTER_KEY', '');
  vi.stubEnv('FIRESTORE_EMULATOR_HOST', sandbox.address);
  try {
    return await runHoldfast('local', ...words, ...store);
  } finally {
    vi.unstubAllEnvs();
  }
}

const key = () => ['--key-file', join(folder, 'key')];
const json = async (...words: string[]) => JSON.parse((await holdfast(...words, ...key(), '--json')).out);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  sandbox = await startFirestoreSandbox();
  loadSample(sandbox.control.database({ project: 'shop', database: '(default)' }), { documents: 300, seed: 7 });
});

afterAll(async () => {
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a customer without a service backs up, browses, verifies, compares, restores and exports', {
  timeout: 120_000,
}, async () => {
  expect((await holdfast('keygen', join(folder, 'key'))).code).toBe(0);
  const full = await json('backup', '--project', 'shop');
  expect(full).toMatchObject({ type: 'full', parentId: null, warnings: [] });
  expect(full.documents).toBeGreaterThanOrEqual(300);

  const increment = await json('backup', '--project', 'shop', '--incremental');
  expect(increment).toMatchObject({
    type: 'incremental',
    parentId: full.backupId,
    puts: 0,
    deletes: 0,
    documents: full.documents,
  });

  const { backups } = await json('list');
  expect(backups.map((backup: { backupId: string }) => backup.backupId)).toEqual([full.backupId, increment.backupId]);

  const { collections } = await json('browse', 'latest');
  expect(collections.length).toBeGreaterThan(2);
  expect(await json('verify', 'latest')).toMatchObject({ isIntact: true, documents: full.documents, backups: 2 });

  expect(await json('restore', 'latest', '--project', 'copy', '--dry-run')).toMatchObject({
    preview: { create: full.documents, replace: 0 },
  });
  expect(await json('restore', 'latest', '--project', 'copy', '--no-ramp-up')).toMatchObject({
    written: full.documents,
    failed: 0,
  });
  const compared = await holdfast('diff', full.backupId, 'live', '--project', 'copy', ...key(), '--json');
  expect(compared).toMatchObject({ code: 0, out: '{"summary":{"added":0,"removed":0,"changed":0}}\n' });

  const exported = await holdfast('export', 'latest', ...key());
  const lines = exported.out.trimEnd().split('\n');
  expect(lines).toHaveLength(full.documents);
  const first = JSON.parse(lines[0]!) as { name: string };
  const path = first.name.split('/documents/')[1]!;
  expect(JSON.parse((await holdfast('browse', 'latest', path, ...key())).out)).toEqual(first);
});

test('latest is the newest whole backup of the given database, and asks which one if there are several', {
  timeout: 120_000,
}, async () => {
  const alone = (await json('browse', 'latest')).documents;
  await json('backup', '--project', 'shop', '--collections', 'edge');
  expect((await json('browse', 'latest')).documents).toBe(alone);
  const flat = await json('backup', '--project', 'shop', '--no-subcollections');
  expect(flat.documents).toBeLessThan(alone);
  expect((await json('browse', 'latest')).documents).toBe(alone);
  loadSample(sandbox.control.database({ project: 'other', database: 'reports' }), { documents: 50, seed: 3 });
  const other = await json('backup', '--project', 'other', '--database', 'reports');
  const asked = await holdfast('browse', 'latest', ...key());
  expect(asked).toMatchObject({ code: 2, error: expect.stringContaining('latest:shop, latest:other/reports.') });
  expect((await json('browse', 'latest:shop')).documents).toBe(alone);
  expect((await json('browse', 'latest:other/reports')).documents).toBe(other.documents);
  expect((await holdfast('browse', 'latest:nobody', ...key())).code).toBe(5);
  loadSample(sandbox.control.database({ project: 'other', database: '(default)' }), { documents: 20, seed: 4 });
  const standard = await json('backup', '--project', 'other');
  const two = await holdfast('browse', 'latest:other', ...key());
  expect(two).toMatchObject({
    code: 2,
    error: expect.stringContaining('latest:other/reports, latest:other/(default)'),
  });
  expect((await json('browse', 'latest:other/(default)')).documents).toBe(standard.documents);
  const found = await json('browse', 'latest:shop', '--search', 'a', '--limit', '3');
  expect(found).toMatchObject({ hasMore: true, documents: { length: 3 } });
});

test('a document is restored with everything below it, and nothing beside it', async () => {
  const lines = (await holdfast('export', 'latest:shop', ...key())).out.trimEnd().split('\n');
  const paths = lines.map((line) => (JSON.parse(line) as { name: string }).name.split('/documents/')[1]!);
  const document = paths
    .find((path) => path.split('/').length > 3)!
    .split('/')
    .slice(0, 2)
    .join('/');
  const target = ['--project', 'empty', '--documents', document];
  const alone = paths.filter((path) => path === document).length;
  const below = paths.filter((path) => path === document || path.startsWith(`${document}/`)).length;
  expect(below).toBeGreaterThan(alone);
  expect((await json('restore', 'latest:shop', ...target, '--below', '--dry-run')).preview).toMatchObject({
    create: below,
    delete: 0,
  });
  expect(await json('restore', 'latest:shop', ...target, '--below')).toMatchObject({ written: below, failed: 0 });
  const collection = paths.find((path) => path.startsWith(`${document}/`))!.replace(/\/[^/]*$/, '');
  const left = paths.filter((path) => path.startsWith(`${collection}/`)).length;
  const without = ['--below', '--exclude', collection];
  expect(await json('restore', 'latest:shop', ...target, ...without)).toMatchObject({ written: below - left });
});

test('an excluded collection is not restored by another name', async () => {
  await writeFile(join(folder, 'two.json'), '{"users":{"ada":{"n":1}},"notes":{"1":{"n":1}}}');
  const store = ['--store', join(folder, 'left-out')];
  const source = ['--from', folder, '--format', 'json', '--project', 'shop'];
  const { backupId } = await json('import', 'two.json', ...source, ...store);
  const restore = ['restore', backupId, '--project', 'left-out', ...store, ...key()];
  for (const words of [[], ['--below']]) {
    const asked = ['--documents', 'users/ada', 'notes/1', '--exclude', 'notes', ...words];
    const refused = await holdfast(...restore, ...asked);
    expect(refused).toMatchObject({ code: 2, error: expect.stringContaining('notes/1') });
  }
  const both = await holdfast(...restore, '--documents', 'users/ada', '--below', '--no-subcollections');
  expect(both).toMatchObject({ code: 2, error: expect.stringContaining('--no-subcollections') });
});

test('an imported file is never the latest, is no base for increments, and removes nothing', async () => {
  const store = ['--store', join(folder, 'with-import')];
  const own = await json('backup', '--project', 'shop', ...store);
  await writeFile(join(folder, 'old.json'), '{"users":{"ada":{"name":"Ada"}}}');
  const source = ['--from', folder, '--format', 'json', '--project', 'shop'];
  const imported = await json('import', 'old.json', ...source, ...store);
  const merged = await json('merge', imported.backupId, ...store);
  expect(merged.documents).toBe(1);
  expect((await json('verify', 'latest', ...store)).backupId).toBe(own.backupId);
  for (const parent of [imported.backupId, merged.backupId])
    expect(await json('backup', '--project', 'shop', '--incremental', parent, ...store)).toMatchObject({
      type: 'full',
      warnings: [expect.stringContaining('it was made of a file')],
    });
  await json('restore', own.backupId, '--project', 'elsewhere', ...store);
  const equal = ['--project', 'elsewhere', '--delete-extra', '--yes', ...store];
  for (const id of [imported.backupId, merged.backupId])
    expect(await json('restore', id, ...equal)).toMatchObject({ deleted: 0 });
});

test('documents that a backup does not cover are not shown as changed', async () => {
  const part = await json('backup', '--project', 'shop', '--collections', 'edge');
  const flat = await json('backup', '--project', 'shop', '--no-subcollections');
  const compare = async (...words: string[]) => {
    const { code, out } = await holdfast('diff', ...words, '--project', 'shop', ...key());
    return [code, out.split('\n').at(-2)];
  };
  const same = [0, '0 added, 0 removed, 0 changed.'];
  expect(await compare(part.backupId, 'live')).toEqual(same);
  expect(await compare(flat.backupId, 'live')).toEqual(same);
  expect(await compare(part.backupId, flat.backupId)).toEqual(same);
  expect(await compare(flat.backupId, part.backupId)).toEqual(same);
});

test('a backup that the key does not open is neither skipped silently nor left without its base', {
  timeout: 120_000,
}, async () => {
  const place = ['--store', join(folder, 'two-keys')];
  for (const name of ['first', 'second']) expect((await holdfast('keygen', join(folder, name))).code).toBe(0);
  const [first, second] = ['first', 'second'].map((name) => ['--key-file', join(folder, name)]) as [string[], string[]];
  const run = (...words: string[]) => holdfast(...words, ...place);
  const base = JSON.parse((await run('backup', '--project', 'shop', ...first, '--json')).out).backupId;
  const newer = JSON.parse((await run('backup', '--project', 'shop', ...second, '--json')).out).backupId;
  const verified = await run('verify', 'latest', ...first, '--json');
  expect([verified.code, verified.error]).toEqual([0, expect.stringContaining(`${newer}`)]);
  const refused = await run('delete', base, ...first, '--yes');
  expect([refused.code, refused.error]).toEqual([2, expect.stringContaining(`whether ${newer} depends on ${base}`)]);
  expect((await run('verify', base, ...first)).code).toBe(0);
  expect((await run('delete', base, ...first, '--yes', '--force')).code).toBe(0);
});

test('wrong keys, damage, missing backups and wrong usage each have their own exit code', {
  timeout: 120_000,
}, async () => {
  await writeFile(join(folder, 'other'), 'ab'.repeat(32));
  expect((await holdfast('verify', 'latest', '--key-file', join(folder, 'other'))).code).toBe(4);
  expect((await holdfast('list', '--key-file', join(folder, 'other'))).code).toBe(4);
  const { backups } = await json('list');
  const id = backups[0].backupId as string;
  expect((await holdfast('verify', id, '--key-file', join(folder, 'other'))).code).toBe(4);
  const none = await holdfast('verify', 'bkp_none', ...key());
  expect([none.code, none.error]).toEqual([
    5,
    `BACKUP_NOT_FOUND: There is no backup bkp_none in file://${join(folder, 'store')}.\n\`holdfast local list\` shows what there is; \`latest\` is the newest.\n`,
  ]);
  await mkdir(join(folder, 'empty'));
  const nothing = await holdfast('list', '--store', join(folder, 'empty'), '--master-key-file', join(folder, 'other'));
  expect([nothing.code, nothing.error]).toEqual([5, expect.stringContaining('Is it the right place?')]);
  expect((await holdfast('restore', id, '--mode', 'sideways', ...key())).code).toBe(2);
  const segments = join(folder, 'store', 'backups', id, 'segments');
  const file = join(segments, (await readdir(segments))[0]!);
  const bytes = await readFile(file);
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(file, bytes);
  const damaged = await holdfast('verify', id, ...key(), '--json');
  expect(damaged.code).toBe(3);
  expect(JSON.parse(damaged.out)).toMatchObject({ isIntact: false, errorCount: 1 });
  expect((await holdfast('export', id, ...key())).code).toBe(3);

  const out = join(folder, 'out');
  await mkdir(out);
  await writeFile(join(out, 'export.ndjson'), 'good');
  expect((await holdfast('export', id, '-o', join(out, 'export.ndjson'), ...key())).code).toBe(3);
  expect([await readdir(out), await readFile(join(out, 'export.ndjson'), 'utf8')]).toEqual([['export.ndjson'], 'good']);
});

test('an id that is taken is a conflict, reported before anything is read', async () => {
  const store = ['--store', join(folder, 'named'), '--project', 'shop', '--id', 'monday', ...key()];
  expect((await holdfast('backup', ...store)).code).toBe(0);
  const again = await holdfast('backup', ...store);
  expect([again.code, again.error]).toEqual([
    10,
    `STORAGE_CONFLICT: The id monday is taken: a backup lies under it in file://${join(folder, 'named')}.\nGive another --id, or none: then one is made up.\n`,
  ]);
});

test('every reading command reports a missing folder, and does not create it', async () => {
  const store = join(folder, 'stroe', 'deep');
  const into = ['--project', 'shop', '--yes'];
  const source = ['--from', join(folder, 'stroe'), '--format', 'json', '--project', 'shop'];
  for (const words of [
    ['list', '--store', store],
    ['list', '--store', `file://${store}`, '--json'],
    ['verify', 'latest', '--store', store],
    ['browse', 'latest', '--store', store],
    ['export', 'latest', '--store', store],
    ['diff', 'latest', 'latest', '--store', store],
    ['restore', 'latest', '--store', store, ...into],
    ['merge', 'latest', '--store', store],
    ['delete', 'bkp_none', '--store', store, '--yes'],
    ['import', 'file.json', '--store', join(folder, 'store'), ...source],
  ]) {
    const { code, out, error } = await holdfast(...words, ...key());
    expect([words[0], code], out + error).toEqual([words[0], 5]);
    expect(out + error).toContain('does not exist');
  }
  expect(existsSync(join(folder, 'stroe'))).toBe(false);
  const asFile = await holdfast('list', '--store', join(folder, 'key'), ...key());
  expect([asFile.code, asFile.error]).toEqual([2, expect.stringContaining('is a file, not a folder')]);
  const first = await holdfast('backup', '--project', 'shop', '--store', store, ...key());
  expect(first.code, first.error).toBe(0);
  expect((await holdfast('list', '--store', store, ...key())).out).toContain('bkp_');
});

test('missing accounts of a backup are reported before anything is written', async () => {
  const store = ['--store', join(folder, 'no-accounts'), ...key()];
  expect((await holdfast('backup', '--project', 'shop', ...store)).code).toBe(0);
  const restored = await holdfast('restore', 'latest', '--project', 'no-accounts', '--auth-users', ...store);
  expect([restored.code, restored.error]).toEqual([5, expect.stringContaining('holds no accounts')]);
  const target = sandbox.control.database({ project: 'no-accounts', database: '(default)' });
  expect(target.documentCount).toBe(0);
});

test('a restore that is stopped says how far it got, and can be continued', async () => {
  const store = ['--store', join(folder, 'stopped'), '--project', 'stopped', ...key()];
  const full = JSON.parse((await holdfast('backup', ...store.with(3, 'shop'), '--json')).out);
  const bar = vi.spyOn(ProgressBar.prototype, 'update').mockImplementation(() => void process.emit('SIGINT'));
  const stopped = await holdfast('restore', 'latest', ...store);
  bar.mockRestore();
  expect(stopped.code, stopped.error).toBe(130);
  const [, written, after] =
    /^CANCELLED: Stopped; (\d+) documents written, which stay\.\nThe same command with --after '(.+)' /.exec(
      stopped.error,
    ) as unknown as [string, string, string];
  expect(Number(written)).toBeGreaterThan(0);
  const target = sandbox.control.database({ project: 'stopped', database: '(default)' });
  expect(target.documentCount).toBeLessThan(full.documents);
  const rest = await holdfast('restore', 'latest', '--after', after, ...store, '--json');
  expect(rest.code, rest.error).toBe(0);
  expect(JSON.parse(rest.out).written).toBeLessThan(full.documents);
  expect(target.documentCount).toBe(full.documents);
});

test('a database without credentials causes an error that names the options for them', async () => {
  vi.stubEnv('FIRESTORE_EMULATOR_HOST', '');
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '');
  const words = ['local', 'restore', 'latest', '--project', 'shop', '--store', join(folder, 'stopped'), ...key()];
  const refused = await runHoldfast(...words).finally(() => vi.unstubAllEnvs());
  expect([refused.code, refused.error]).toEqual([
    2,
    expect.stringMatching(/needs credentials of its own\.\nGive .*--credentials or GOOGLE_APP.*--emulator\./),
  ]);
});

test('a recovery kit opens backups whatever its destinations are called', async () => {
  const store = ['--store', join(folder, 'by-kit')];
  expect((await holdfast('backup', '--project', 'shop', ...store, ...key())).code).toBe(0);
  const kit = [
    `key key_1 service ${(await readFile(join(folder, 'key'), 'utf8')).trim()}`,
    '',
    'Storage destinations (credentials are not in this file)',
    '',
    'key vault service bucket: s3://bucket/',
  ];
  await writeFile(join(folder, 'kit'), kit.join('\n'));
  const verified = await holdfast('verify', 'latest', ...store, '--kit-file', join(folder, 'kit'));
  expect([verified.code, verified.error]).toEqual([0, '']);
});

test('a change of key that was interrupted in the middle of a chain is completed by the same command', {
  timeout: 120_000,
}, async () => {
  const place = join(folder, 'broken-off');
  for (const name of ['former', 'next']) expect((await holdfast('keygen', join(folder, name))).code).toBe(0);
  const [former, next] = ['former', 'next'].map((name) => join(folder, name)) as [string, string];
  const run = (...words: string[]) => holdfast(...words, '--store', place);
  expect((await run('backup', '--project', 'shop', '--id', 'base', '--key-file', former)).code).toBe(0);
  const increment = ['backup', '--project', 'shop', '--id', 'increment', '--incremental'];
  expect((await run(...increment, '--key-file', former)).code).toBe(0);
  const rewrap = (id: string) => run('rewrap', id, '--key-file', former, '--new-key-file', next);
  // The state after an interruption between the two backups.
  expect((await rewrap('base')).out).toContain('Still under the former key: increment.');
  expect((await run('verify', 'increment', '--key-file', former)).code).toBe(4);
  const again = await rewrap('increment');
  expect([again.code, again.error, again.out]).toEqual([0, '', 'Re-wrapped base, increment.\n']);
  expect((await run('verify', 'increment', '--key-file', next)).code).toBe(0);
});

test('a new passphrase is asked for twice, because a typing mistake would lock the backups', {
  tags: 'long',
  timeout: 120_000,
}, async () => {
  const store = ['--store', join(folder, 'typed')];
  const differs = await typing(['a passphrase', 'a passphrsae'], 'backup', '--project', 'shop', ...store);
  expect([differs.code, differs.error]).toEqual([2, expect.stringContaining('The two were not the same.')]);
  expect((await typing(['a passphrase', 'a passphrase'], 'backup', '--project', 'shop', ...store)).code).toBe(0);
  const rewrap = (...lines: string[]) => typing(lines, 'rewrap', 'latest', ...store);
  expect((await rewrap('a passphrase', 'another', 'anohter')).code).toBe(2);
  expect((await typing(['a passphrase'], 'verify', 'latest', ...store)).code).toBe(0);
  expect((await rewrap('a passphrase', 'another', 'another')).code).toBe(0);
  expect((await typing(['another'], 'verify', 'latest', ...store)).code).toBe(0);
});

/** Plays a person at a terminal who types the next line at each question. */
async function typing(lines: readonly string[], ...words: string[]): Promise<Outcome> {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  const waiting = [...lines];
  const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(terminal as never);
  const answer = setInterval(() => {
    const isAsked = terminal.listenerCount('keypress') > 0;
    if (isAsked && waiting.length > 0) terminal.write(`${waiting.shift()}\n`);
  }, 50);
  try {
    return await holdfast(...words);
  } finally {
    clearInterval(answer);
    stdin.mockRestore();
  }
}

test('a long restore without a terminal reports its progress now and then', async () => {
  const store = ['--store', join(folder, 'told'), ...key()];
  expect((await holdfast('backup', '--project', 'shop', ...store)).code).toBe(0);
  const { now } = performance;
  let passedMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + passedMs);
  const { update } = ProgressBar.prototype;
  const bar = vi.spyOn(ProgressBar.prototype, 'update').mockImplementation(function (this: ProgressBar, state) {
    passedMs += 31_000;
    update.call(this, state);
  });
  try {
    const restored = await holdfast('restore', 'latest', '--project', 'told', '--no-ramp-up', ...store);
    expect([restored.code, restored.out]).toEqual([0, expect.stringMatching(/^\d+ written, /)]);
    expect(restored.error).toMatch(/^Restoring {2}.* % {2}[\d,]+ documents {2}.*\/s\n/);
    expect(restored.error).not.toContain('\r');
  } finally {
    bar.mockRestore();
    clock.mockRestore();
  }
});
