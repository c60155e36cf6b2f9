import { spawnSync } from 'node:child_process';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FieldValue, GeoPoint, Timestamp } from '@google-cloud/firestore';
import { loadSample } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../server/testing/backup-bench.ts';
import { shellBlock } from '../../server/testing/documentation.ts';
import { testMasterKey } from '../../server/testing/test-app.ts';
import { holdfast } from '../testing.ts';
import { DocumentShell } from './testing/shell.ts';

const whereItLies = 'import cryptography, sys, zstandard; print(sys.executable)';
/** A Python with the two packages. Where there is none, the second reader is skipped with a note. */
const python = ['/usr/bin/python3', 'python3']
  .map((name) => spawnSync(name, ['-c', whereItLies], { encoding: 'utf8' }))
  .find(({ status }) => status === 0)
  ?.stdout.trim();
const reader = join(import.meta.dirname, '../../../docs/readers/read_backup.py');
const frozen = join(import.meta.dirname, '../../engine/fixtures/frozen/v1');
const passphrase = 'correct horse battery staple';

describe.skipIf(python === undefined)('a second reader, by docs/format.md', () => {
  let bench: BackupBench;
  let shell: DocumentShell;
  let store: string;
  let full: string;
  let increment: string;

  /** A chain under the service's key. */
  beforeAll(async () => {
    bench = await startBackupBench();
    shell = await DocumentShell.open();
    const { firestore, sandbox } = bench;
    loadSample(sandbox.control.database({ project: 'shop', database: '(default)' }), { documents: 150, seed: 3 });
    await firestore.doc('users/ada').set({ name: 'Ada' });
    await firestore.doc('users/gone').set({ name: 'nobody' });
    await firestore.doc('users/gone/orders/1').set({ total: 1 });
    await firestore.doc('users/ada/orders/__id12__').set({ total: 12 });
    await firestore.doc('users/ada/orders/__id3__').set({ total: 3 });
    full = await bench.backUp();
    await firestore.doc('users/gone').delete();
    await firestore.doc('users/ada').set(awkward());
    await firestore.doc('nobody/is here/日本語/🔥 new').set({ n: 1 });
    increment = await bench.backUp({ type: 'incremental' });
    store = join(bench.app.folder, 'storage', bench.as.organizationId);
    await writeFile(join(shell.folder, 'master.key'), testMasterKey);
    await writeFile(join(shell.folder, 'other.key'), Buffer.alloc(32, 8).toString('base64'));
    await writeFile(join(shell.folder, 'frozen.key'), Buffer.alloc(32, 7).toString('base64'));
    await writeFile(join(shell.folder, 'passphrase.txt'), `${passphrase}\n`);
    await cp(reader, join(shell.folder, 'read_backup.py'));
    await cp(store, join(shell.folder, 'copy'), { recursive: true });
    await shell.install('python3', `exec "${python}" "$@"`);
    // The machine of this test already has the packages, so `apt-get` only checks the arguments.
    await shell.install('apt-get', 'test "$1" = install');
  });
  afterAll(async () => {
    await bench.close();
    await shell.close();
  });

  const awkward = () => ({
    big: 2n ** 53n + 1n,
    smallest: -(2n ** 63n),
    notANumber: Number.NaN,
    zeros: [0, -0, Number.NEGATIVE_INFINITY, 1e21, 5e-324],
    bytes: Buffer.from([0, 255, 128]),
    where: new GeoPoint(-0, 179.999),
    other: bench.firestore.doc('nobody/is here/日本語/🔥 new'),
    when: [new Timestamp(-1, 123_456_789), new Timestamp(253_402_300_799, 1000), new Timestamp(0, 120_000_000)],
    vector: FieldValue.vector([1, 2.5, -3]),
    nested: { none: null, 'a.b': [{ 'ü`"': [] }, {}], __proto: { deep: [{ deeper: { list: [true, 'x\u0000y'] } }] } },
  });

  const read = (words: string, folder = 'copy', key = '--master-key-file master.key') =>
    shell.run(`python3 read_backup.py --store '${folder}' ${key} ${words}`);

  /** How the product itself exports a backup. */
  async function exported(id: string, folder: string, ...key: string[]) {
    const { code, out, error } = await holdfast('local', 'export', id, '--store', folder, ...key);
    expect(code, error).toBe(0);
    return parsed(out);
  }

  async function expectSame(id: string, folder: string, keyFile: string, ...keyOption: string[]) {
    const { code, out, error } = await read(`read ${id}`, folder, ...keyOption);
    expect([code, error]).toEqual([0, '']);
    const [option, file] = keyFile.split(' ') as [string, string];
    const expected = await exported(id, folder, option, join(shell.folder, file));
    expect(expected.length).toBeGreaterThan(20);
    expect(parsed(out)).toEqual(expected);
    return out;
  }

  test('reads a chain document by document as the product exports it: every type, odd ids, deletes', {
    tags: 'long',
  }, async () => {
    await expectSame(full, store, '--master-key-file master.key');
    const out = await expectSame(increment, store, '--master-key-file master.key');
    expect(out).not.toContain('documents/users/gone"');
    for (const text of ['9007199254740993', '"doubleValue":-0', '0001-01-01T00:00:00Z', '/users/gone/orders/1"'])
      expect(out).toContain(text);
    const found = await read('read latest --collection users/*/orders');
    expect(parsed(found.out).map(({ name }) => name.split('/').slice(6).join('/'))).toEqual([
      'ada/orders/__id3__',
      'ada/orders/__id12__',
      'gone/orders/1',
    ]);
  });

  test('reads older formats: shards, accounts beside the documents, a passphrase', {
    tags: 'long',
  }, async () => {
    const key = `--key ${Buffer.alloc(32, 7).toString('base64')}`;
    for (const id of ['full', 'increment']) await expectSame(id, frozen, '--key-file frozen.key', key);
    await expectSame('passphrase', frozen, '--passphrase-file passphrase.txt', '--passphrase - < passphrase.txt');
  });

  test('the commands of docs/format.md print the documents', async () => {
    const { code, out, error } = await shell.run(shellBlock('docs/format.md', 'second-reader').text);
    expect(code, error).toBe(0);
    for (const id of [full, increment]) expect(out).toContain(id);
    const documents = parsed(await readFile(join(shell.folder, 'documents.ndjson'), 'utf8'));
    expect(documents).toEqual(await exported(increment, store, '--master-key-file', join(shell.folder, 'master.key')));
    expect(parsed(out.split('\n').at(-2) as string)).toEqual(
      documents.filter(({ name }) => name.endsWith('/users/ada')),
    );
  });

  test('a recovery kit opens backups under the keys it contains', async () => {
    const kit = await bench.app.request('POST', '/api/v1/organizations/current/recovery-kit', bench.as);
    await writeFile(join(shell.folder, 'kit.txt'), kit.text);
    const { code, out } = await read('list', store, '--kit-file kit.txt');
    expect([code, out.trimEnd().split('\n').length]).toEqual([0, 2]);
  });

  test('a wrong key, a flipped byte and a missing object end with one sentence and a code', async () => {
    const sentence = /^[^\n]+\.\n$/;
    const wrong = await read('read latest', 'copy', '--master-key-file other.key');
    expect([wrong.code, wrong.out, wrong.error]).toEqual([4, '', expect.stringMatching(sentence)]);
    const kinds = (await readdir(join(store, 'backups', full), { recursive: true })).filter((name) =>
      /^manifest$|\//.test(name),
    );
    expect(kinds).toHaveLength(2);
    for (const name of kinds) {
      const path = join(shell.folder, 'copy/backups', full, name);
      const bytes = await readFile(path);
      const flipped = Buffer.from(bytes);
      flipped[bytes.length >> 1]! ^= 1;
      await writeFile(path, flipped);
      const { code, error } = await read('read latest');
      expect([name, code, error]).toEqual([name, 3, expect.stringMatching(sentence)]);
      await writeFile(path, bytes);
    }
    const gone = join(shell.folder, 'copy/backups', increment);
    await shell.run(`rm -r '${gone}/segments'`);
    const { code, error } = await read(`read ${increment}`);
    expect([code, error]).toEqual([3, expect.stringMatching(/^Damaged: backups\/\S+ is missing\.\n$/)]);
  });
});

const parsed = (text: string): { name: string }[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
