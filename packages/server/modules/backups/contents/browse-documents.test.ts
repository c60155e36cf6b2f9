import { expect, test } from 'vitest';
import { testDocument } from '../../../../engine/fixtures/arbitrary-documents.ts';
import { BackupHarness } from '../../../../engine/fixtures/backup-harness.ts';
import { MemoryDatabase } from '../../../../engine/fixtures/memory-source.ts';
import { readDocuments, searchDocuments } from './browse-documents.ts';

const paths = Array.from({ length: 60 }, (_, index) => `c/${String(index).padStart(3, '0')}`);

/** The segments of these backups hold a few documents each. */
async function openBackup() {
  const harness = new BackupHarness();
  const source = new MemoryDatabase(paths.map((path) => testDocument(path, { at: { stringValue: path } })));
  return harness.view(await harness.backUp(source));
}

/** Every page ends as soon as it may. */
async function pagesOf(options: { collection?: string; prefix?: string }) {
  const view = await openBackup();
  const pages: string[][] = [];
  for (let next: string | null = ''; next !== null; ) {
    const page = await readDocuments(view, { ...options, limit: 50, ...(next === '' ? {} : { after: next }) }, 0);
    pages.push(page.documents.map(({ path }) => path));
    next = page.next;
  }
  return pages;
}

test('documents of a collection come in as many pages as time asks for, each document once', async () => {
  const pages = await pagesOf({ collection: 'c' });
  expect(pages.flat()).toEqual(paths);
  expect(pages.length).toBeGreaterThan(10);
});

test('a search for ids everywhere ends its pages in time, also where nothing was found', async () => {
  const pages = await pagesOf({ prefix: '05' });
  expect(pages.flat()).toEqual(paths.filter((path) => path.startsWith('c/05')));
  expect(pages.filter((page) => page.length === 0).length).toBeGreaterThan(3);
});

test('a search in values looks at each piece of the backup when it has its turn', async () => {
  let turns = 0;
  const turn = async () => {
    turns += 1;
  };
  const page = await searchDocuments(await openBackup(), 'c/059', { limit: 50, turn });
  expect(page).toMatchObject({ scanned: 60, next: null });
  expect(page.documents.map(({ path }) => path)).toEqual(['c/059']);
  expect(turns).toBeGreaterThan(10);
});
