import { execFile, execFileSync } from 'node:child_process';
import { lstat, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Job } from './service/job.ts';
import { ProgressBoard } from './service/progress-board.ts';
import { reportRestoreEnd } from './service/restore/show.ts';
import { app, backUp, documents, firestore, folder, holdfast, main, shop, useService } from './testing.ts';

useService();

describe('backups', () => {
  test('are made, browsed, compared, exported, held and deleted from the command line', async () => {
    const plan = await holdfast('backup', 'Shop', '--dry-run', '--json');
    expect(plan.json).toMatchObject({ dryRun: true, documentCount: documents });

    const made = await holdfast('backup', 'create', shop.projectId, '--wait');
    expect(made.code, made.error).toBe(0);
    expect(made.out).toMatch(/Status +completed/);
    expect(made.error).toMatch(/bkp_\w+ {2}█{24} 100 % {2}completed {2}300 documents/);
    const id = /bkp_\w+/.exec(made.out)![0];

    expect((await holdfast('backup', 'list', '--project', 'shop', '--json')).json).toMatchObject({
      backups: [{ id, status: 'completed' }],
      hasMore: false,
    });
    expect((await holdfast('backup', 'show', 'latest:Shop', '--json')).json).toMatchObject({
      id,
      documentCount: documents,
    });
    const verified = await holdfast('backup', 'verify', id, '--wait', '--json');
    expect([verified.code, verified.json.verification.status]).toEqual([0, 'passed']);

    const tree = (await holdfast('backup', 'browse', id, '--json')).json.collections;
    const { path: collection } = tree[0];
    const page = (await holdfast('backup', 'browse', id, collection, '--limit', '2', '--json')).json;
    expect(page).toMatchObject({ hasMore: true, documents: [{}, {}] });
    const { path } = page.documents[0];
    expect((await holdfast('backup', 'get', id, path)).json).toEqual(page.documents[0]);

    const file = join(folder, 'export.ndjson');
    const [real, link, pipe] = [join(folder, 'real'), join(folder, 'link'), join(folder, 'pipe')];
    await writeFile(real, 'former');
    await symlink(real, link);
    execFileSync('mkfifo', [pipe]);
    const [piped, read] = await Promise.all([holdfast('backup', 'export', id, '-o', pipe), readFile(pipe, 'utf8')]);
    expect([piped.code, piped.out, (await lstat(pipe)).isFIFO()]).toEqual([0, '', true]);
    expect((await holdfast('backup', 'export', id, '-o', link)).code).toBe(0);
    expect([(await lstat(link)).isSymbolicLink(), await readFile(real, 'utf8')]).toEqual([true, read]);
    const exported = await holdfast('backup', 'export', id, '--output', file);
    expect([exported.code, exported.out]).toEqual([0, expect.stringMatching(/^Wrote \d+ documents \(.*\) to .*\.\n$/)]);
    expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toHaveLength(documents);

    expect(await holdfast('backup', 'diff', id, '--json')).toMatchObject({
      code: 0,
      json: { summary: { added: 0, removed: 0, changed: 0 } },
    });
    await firestore.doc('new/one').set({ hello: 'world' });
    expect(await holdfast('backup', 'diff', id)).toMatchObject({
      code: 8,
      out: '+ new/one\n1 added, 0 removed, 0 changed.\n',
    });
    expect(await holdfast('backup', 'diff', id, '--collection', 'new')).toMatchObject({
      code: 8,
      out: '+ new/one\n1 added, 0 removed, 0 changed.\n',
    });
    expect(await holdfast('backup', 'diff', id, '--collection', 'nwe')).toMatchObject({
      code: 5,
      out: '',
      error: expect.stringContaining('COLLECTION_NOT_FOUND: There is nothing to compare in nwe.\n'),
    });

    const increment = await backUp('--type', 'incremental');
    expect((await holdfast('backup', 'show', increment, '--json')).json).toMatchObject({ parentId: id });
    const used = await holdfast('backup', 'delete', id, '--yes');
    expect(used).toMatchObject({ code: 10, out: '' });
    expect(used.error).toMatch(/RESOURCE_IN_USE: .*\nUsed by backup bkp_\w+\.\nRequest \w+/);

    expect((await holdfast('backup', 'hold', increment, '--json')).json.legalHold).toBe(true);
    expect((await holdfast('backup', 'delete', increment, '--yes')).code).toBe(10);
    expect((await holdfast('backup', 'release', increment, '--json')).json.legalHold).toBe(false);
    expect((await holdfast('backup', 'delete', increment, '--yes', '--json')).json).toMatchObject({
      id: increment,
      deleted: true,
    });
    expect((await holdfast('backup', 'show', increment)).code).toBe(5);
    await firestore.doc('new/one').delete();
  });

  test('that fail end with the exit code of their failure and say how to fix it', async () => {
    const cancelled = await holdfast('backup', 'cancel', 'latest:Shop');
    expect([cancelled.code, cancelled.error.split(':')[0]]).toEqual([10, 'INVALID_STATE']);
    const project = await holdfast(
      ...['project', 'add', 'Small', '--source', 'shop', '--emulator', shop.firestore.address],
      ...['--max-reads', '10', '--json'],
    );
    expect(project.error).not.toContain('Another project');
    const second = await holdfast(
      ...['project', 'add', 'Small', '--source', 'shop', '--emulator', shop.firestore.address, '--json'],
    );
    expect(second.error).toContain(`Another project is called Small too (${project.json.id})`);
    expect((await holdfast('project', 'remove', second.json.id, '--yes')).code).toBe(0);
    const over = await holdfast('backup', 'Small', '--wait', '--json');
    expect(over).toMatchObject({ code: 11, json: { status: 'failed', error: { code: 'READ_BUDGET_EXCEEDED' } } });
    expect((await holdfast('project', 'remove', project.json.id, '--yes', '--json')).json.removed).toBe(true);
  });

  test('that are damaged are distinguished from good ones, and half an export is none', { tags: 'long' }, async () => {
    const id = await backUp();
    const segments = join(app.folder, 'storage', shop.organizationId, 'backups', id, 'segments');
    const [segment] = await readdir(segments);
    await writeFile(join(segments, segment!), 'not what was written');
    const verified = await holdfast('backup', 'verify', id, '--wait');
    expect([verified.code, verified.out]).toEqual([3, expect.stringMatching(/^Damaged: /)]);
    expect((await holdfast('drill', id, '--wait')).code).toBe(3);
    const file = join(folder, 'damaged.ndjson');
    expect([3, 6]).toContain((await holdfast('backup', 'export', id, '-o', file)).code);
    expect((await readdir(folder)).filter((name) => name.startsWith('damaged'))).toEqual([]);
    expect((await holdfast('backup', 'delete', id, '--yes')).code).toBe(0);
  });

  test('that cannot be read without their key are not called damaged', { tags: 'long' }, async () => {
    const file = join(folder, 'passphrase');
    await writeFile(file, 'a sentence that nobody guesses');
    await holdfast('encryption-key', 'set', '--passphrase-file', file);
    const id = await backUp('--collections', 'edge');
    await holdfast('encryption-key', 'withdraw', '--yes');
    const verified = await holdfast('backup', 'verify', id, '--wait');
    expect([verified.code, verified.out]).toEqual([4, expect.stringMatching(/^Could not be read: /)]);
    await holdfast('encryption-key', 'set', '--passphrase-file', file);
    expect((await holdfast('backup', 'delete', id, '--yes')).code).toBe(0);
    await holdfast('encryption-key', 'withdraw', '--yes');
  });

  test('are searched further when a page ends before it has found anything', async () => {
    const id = await backUp('--collections', 'edge');
    const { fetch } = globalThis;
    const empty = { success: true, data: [], pagination: { nextCursor: 'behind', hasMore: true } };
    const slow = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      const url = new URL(String(input));
      if (!url.pathname.endsWith('/documents')) return await fetch(input, init);
      if (!url.searchParams.has('cursor')) return Response.json(empty);
      url.searchParams.delete('cursor');
      return await fetch(url, init);
    });
    try {
      const found = await holdfast('backup', 'browse', id, 'edge', '--limit', '1', '--json');
      expect([found.code, found.json.documents?.length]).toEqual([0, 1]);
    } finally {
      slow.mockRestore();
    }
  });

  test('are followed to their end even if the connection breaks on the way', async () => {
    const { fetch } = globalThis;
    let opened = 0;
    const breaking = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).endsWith('/events') || ++opened > 2) return response;
      await response.body?.cancel();
      const body = new ReadableStream({ start: (stream) => stream.error(new Error('reset')) });
      return new Response(body, { headers: response.headers });
    });
    try {
      await backUp('--collections', 'edge');
      expect(opened).toBeGreaterThan(2);
    } finally {
      breaking.mockRestore();
    }
  });
});

describe('restores', () => {
  test('are tried, run, listed and undone from the command line, and a drill proves the backup', {
    tags: 'long',
  }, async () => {
    const backupId = await backUp();
    const [first] = (await holdfast('backup', 'browse', backupId, '--prefix', 'a', '--limit', '1', '--json')).json
      .documents;
    const path = first?.path ?? 'users/none';
    await firestore.doc(path).set({ overwritten: true });

    const tried = await holdfast('restore', backupId, '--documents', path, '--dry-run', '--json');
    expect(tried).toMatchObject({ code: 0, json: { dryRun: true, preview: { replace: 1, create: 0 } } });
    const done = await holdfast('restore', backupId, '--documents', path, '--wait');
    expect(done.code, done.error).toBe(0);
    expect(done.out).toMatch(/Restored +1 document\nSafety backup +bkp_/);
    expect((await holdfast('backup', 'diff', backupId)).code).toBe(0);

    const id = /rst_\w+/.exec(done.out)![0];
    const { restores } = (await holdfast('restore', 'list', '--backup', backupId, '--json')).json;
    expect(restores.map((entry: { id: string }) => entry.id)).toContain(id);
    expect((await holdfast('restore', 'show', id)).out).toMatch(/Phase +Completed/);
    expect((await holdfast('restore', 'cancel', id)).code).toBe(10);
    expect((await holdfast('restore', 'resume', id)).code).toBe(10);
    const undone = await holdfast('restore', 'undo', id, '--wait', '--json');
    expect(undone.json, undone.error).toMatchObject({ status: 'completed', undoOf: id, conflicts: 0 });
    expect((await firestore.doc(path).get()).data()).toEqual({ overwritten: true });
    expect((await holdfast('restore', 'undo', id)).code).toBe(10);

    const drill = await holdfast('drill', backupId, '--wait');
    expect(drill, drill.error).toMatchObject({ code: 0 });
    expect(drill.out).toMatch(/^Passed: 300 of 300 documents equal, restored in [\d.]+ s\.\n$/);
    expect((await holdfast('drill', 'list', backupId, '--json')).json.drills).toMatchObject([{ passed: true }]);
  });

  test('that fail say so, can be resumed, and differ from those that wrote a part', async () => {
    const backupId = await backUp();
    const [{ path }] = (await holdfast('backup', 'browse', backupId, '--prefix', 'a', '--json')).json.documents;
    shop.firestore.control.deny({ project: 'shop', access: 'write' });
    const failed = await holdfast('restore', backupId, '--documents', path, '--wait', '--no-safety-backup', '--json');
    shop.firestore.control.clearAccess();
    expect(failed).toMatchObject({ code: 9, json: { error: { code: 'RESTORE_PERMISSION_DENIED' } } });
    const resumed = await holdfast('restore', 'resume', failed.json.id, '--wait', '--json');
    expect(resumed).toMatchObject({ code: 0, json: { status: 'completed' } });

    const before = process.exitCode;
    const { error } = failed.json;
    reportRestoreEnd({ status: 'failed', error, errors: { count: 2, sample: [] }, documentsRestored: 5 });
    expect(process.exitCode).toBe(7);
    process.exitCode = before;
  });
});

describe('projects and storage', () => {
  test('are connected, tested, estimated and removed from the command line', { tags: 'long' }, async () => {
    const tree = (await holdfast('project', 'collections', 'Shop', '--json')).json.collections;
    expect(tree.length).toBeGreaterThan(1);
    expect((await holdfast('project', 'cost', 'Shop', '--json')).json.full.reads).toBeGreaterThanOrEqual(documents);
    expect((await holdfast('project', 'show', 'shop')).out).toMatch(/Connection +emulator, connected/);
    expect((await holdfast('project', 'reconnect', 'Shop')).out).toBe('The project is connected.\n');
    expect((await holdfast('project', 'list')).out).toContain(shop.projectId);

    const added = await holdfast('storage', 'add', 'Second', '--type', 'local', '--path', 'storage/second', '--json');
    expect(added, added.out).toMatchObject({ code: 0, json: { name: 'Second', status: 'connected' } });
    expect((await holdfast('storage', 'test', 'Second')).out).toMatch(/✔ +write/);
    const both = await backUp('--storage', 'Folder', 'Second', '--collections', 'edge');
    expect((await holdfast('backup', 'show', both, '--json')).json.copies).toHaveLength(2);
    expect((await holdfast('storage', 'remove', 'Second', '--yes')).code).toBe(10);
    const swept = await holdfast('storage', 'sweep', 'Second', '--wait', '--yes', '--json');
    expect(swept).toMatchObject({ code: 0, json: { kind: 'sweep', status: 'completed' } });
    expect((await holdfast('storage', 'sweep', 'Second', '--dry-run', '--json')).json.orphans).toEqual([]);
    const purged = await holdfast('storage', 'purge', 'Second', '--yes');
    expect(purged).toMatchObject({ code: 0, out: expect.stringMatching(/completed, .*found 0, .*removed 0/) });
    expect((await holdfast('storage', 'purge', 'Second', '--dry-run', '--json')).json.result.removable).toBe(0);
    expect((await holdfast('storage', 'rescan', 'Second', '--wait')).out).toMatch(/completed, .*found 1/);
    expect((await holdfast('storage', 'list', '--json')).json.storageDestinations).toHaveLength(2);
    const alone = await backUp('--storage', 'Second', '--collections', 'edge');
    expect((await holdfast('storage', 'migrate', 'Second', 'Folder', '--wait', '--yes')).out).toMatch(/completed/);
    const { copies } = (await holdfast('backup', 'show', alone, '--json')).json;
    expect(copies).toMatchObject([{ storageDestinationId: expect.not.stringContaining(added.json.id) }]);
    await holdfast('backup', 'delete', both, '--yes');
    expect((await holdfast('storage', 'remove', 'Second', '--yes', '--json')).json).toEqual({
      id: added.json.id,
      removed: true,
    });
    expect((await holdfast('storage', 'show', 'Second')).code).toBe(5);
  });

  test('secrets of a bucket come from the environment or a file, never from an argument', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', '');
    const add = ['storage', 'add', 'Bucket', '--type', 's3', '--bucket', 'acme', '--access-key-id', 'AK'];
    expect((await holdfast(...add)).error).toContain('--secret-access-key-file or AWS_SECRET_ACCESS_KEY');
    await writeFile(join(folder, 'secret'), 'very secret\n');
    const guarded = await holdfast(
      ...[...add, '--secret-access-key-file', join(folder, 'secret'), '--endpoint', 'http://127.0.0.1:9', '--json'],
    );
    expect(guarded.code, guarded.out).not.toBe(0);
    expect(guarded.out + guarded.error).not.toContain('very secret');
  });
});

describe('status', () => {
  test('watches everything that waits or runs until it has ended, also over several jobs', {
    tags: 'long',
  }, async () => {
    expect((await holdfast('status')).out).toBe('Nothing waits or runs.\n');
    const first = (await holdfast('backup', 'Shop', '--json')).json.id;
    const second = (await holdfast('backup', 'Shop', '--json')).json.id;
    const watched = await holdfast('status', '--watch', '--json');
    expect(watched.code, watched.error).toBe(0);
    const lines = watched.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Job);
    for (const id of [first, second])
      expect(lines.filter((line) => line.id === id).at(-1)).toMatchObject({ status: 'completed' });
    const one = await holdfast('status', second, '--watch');
    expect(one).toMatchObject({ code: 0 });
    expect(one.out).toMatch(/Status +completed/);
    expect((await holdfast('status', 'prj_1')).code).toBe(2);
  });

  test('draws a bar for each job in place on a terminal, and a line for each tenth into a log', () => {
    const written: string[] = [];
    const stream = { isTTY: true, columns: 60, write: (text: string) => written.push(text) > 0 };
    const board = new ProgressBoard({}, stream);
    const job = (id: string, percent: number): Job => ({
      id,
      status: 'running',
      progress: {
        percent,
        phase: 'reading',
        documents: percent * 10,
        documentsTotal: null,
        bytes: 0,
        etaSeconds: null,
        waitingFor: null,
      },
      error: null,
    });
    board.update([job('bkp_a', 0), job('rst_b', 50)]);
    board.finish();
    expect(written[0]!.split('\n')).toEqual([
      expect.stringMatching(/^bkp_a {2}░{24} {3}0 % {2}reading$/),
      expect.stringMatching(/^rst_b {2}█{11}░{11} {2}50 % {2}reading {2}500 documents$/),
      '',
    ]);
    expect(written[0]!.split('\n').every((line) => line.length < 60)).toBe(true);
    expect(written[1]).toBe('\u001b[2A\r\u001b[J');

    written.length = 0;
    const log = new ProgressBoard({}, { ...stream, isTTY: false });
    for (let percent = 0; percent <= 100; percent += 1) log.update([job('bkp_a', percent)]);
    log.finish();
    expect(written).toHaveLength(11);
    const silent = new ProgressBoard({ json: true }, stream);
    silent.update([job('bkp_a', 1)]);
    expect(written).toHaveLength(11);
  });

  test('suggests a missing worker when a job does not begin', () => {
    const written: string[] = [];
    const log = new ProgressBoard({}, { write: (text: string) => written.push(text) > 0 });
    const none = { documents: 0, documentsTotal: null, bytes: 0, etaSeconds: null, waitingFor: 'Its turn.' };
    const job = { id: 'bkp_a', status: 'pending', progress: { percent: 0, phase: 'queued', ...none }, error: null };
    const clock = vi.spyOn(performance, 'now');
    for (const ms of [0, 10_000, 30_000, 40_000]) {
      clock.mockReturnValue(ms);
      log.update([job as Job]);
    }
    clock.mockRestore();
    expect(written).toEqual([expect.not.stringContaining('worker'), expect.stringContaining('is a worker running?')]);
  });
});

describe('a reader who stops early', () => {
  /** The exit code of the first of two commands in a pipe. */
  const firstOf = (words: string, rest: string) =>
    new Promise<number>((resolve) => {
      const line = `"${process.execPath}" "${main}" ${words} ${rest}; exit \${PIPESTATUS[0]}`;
      execFile('bash', ['-c', line], { env: process.env }, (failure) => resolve(Number(failure?.code ?? 0)));
    });

  test('of the progress does not end the wait for the job', { tags: 'long' }, async () => {
    shop.firestore.control.addFault({ method: 'RunQuery', latencyMs: 1500 });
    try {
      expect(await firstOf('backup Shop --wait', '2>&1 >/dev/null | head -1')).toBe(0);
      expect((await holdfast('backup', 'show', 'latest:Shop', '--json')).json).toMatchObject({ status: 'completed' });
    } finally {
      shop.firestore.control.clearFaults();
    }
  });

  test('of the watched jobs is not told that they ended well', { tags: 'long' }, async () => {
    shop.firestore.control.addFault({ method: 'RunQuery', latencyMs: 3000 });
    try {
      const { id } = (await holdfast('backup', 'Shop', '--json')).json;
      expect(await firstOf(`status ${id} --watch --json`, '| head -1')).toBe(130);
      expect((await holdfast('status', id, '--watch')).code).toBe(0);
    } finally {
      shop.firestore.control.clearFaults();
    }
    expect(await firstOf('backup list', '| true')).toBe(0);
  });
});
