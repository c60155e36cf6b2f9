// @module-tag long
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { app, documents, folder, holdfast, shop, useService } from './testing.ts';

useService();

test('an export is imported again, by the service and without it, and exported with the same text', {
  timeout: 120_000,
}, async () => {
  const made = (await holdfast('backup', 'create', shop.projectId, '--wait', '--json')).json;
  const file = join(app.folder, 'storage', shop.organizationId, 'exports', 'shop.ndjson');
  await mkdir(dirname(file), { recursive: true });
  expect((await holdfast('backup', 'export', made.id, '-o', file)).code).toBe(0);
  const lines = await readFile(file, 'utf8');
  expect(lines.split('\n').length).toBeGreaterThan(documents);

  const given = ['--source', 'ndjson', '--project', shop.projectId, '--storage', shop.destinationId];
  const imported = await holdfast('backup', 'import', 'exports/shop.ndjson', ...given, '--wait', '--json');
  expect(imported.json, imported.error).toMatchObject({ status: 'completed', documentCount: made.documentCount });
  expect((await holdfast('backup', 'export', imported.json.id)).out).toBe(lines);

  const key = ['--key-file', join(folder, 'key')];
  await holdfast('local', 'keygen', join(folder, 'key'));
  const store = ['--store', join(folder, 'store'), ...key];
  const from = ['--from', dirname(file), '--format', 'ndjson', '--project', 'shop'];
  const local = await holdfast('local', 'import', 'shop.ndjson', ...from, ...store, '--json');
  expect(local.json, local.error).toMatchObject({ documents: made.documentCount });
  expect((await holdfast('local', 'export', local.json.backupId, ...store)).out).toBe(lines);
});
