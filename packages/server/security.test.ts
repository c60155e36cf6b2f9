import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const text = readFileSync(new URL('docs/security.md', root), 'utf8');
const promises = [...text.matchAll(/`([\w./-]+\.test\.ts)`: (.+?)(?: \|)?$/gm)].map(([, file, title]) => ({
  file: file as string,
  title: title as string,
}));

test('the threat model names tests', () => {
  expect(promises.length).toBe(text.split('.test.ts`').length - 1);
  expect(promises.length).toBeGreaterThan(20);
});

test.each(promises)('$file holds: $title', ({ file, title }) => {
  const path = new URL(file, root);
  expect(existsSync(path)).toBe(true);
  // Quotes are escaped or not, depending on the file.
  expect(readFileSync(path, 'utf8').replaceAll("\\'", "'")).toContain(title);
});
