import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dashboardFolder, ensureDashboard } from '@holdfast/web/build';
import { beforeAll, expect, test } from 'vitest';

interface Chunk {
  file: string;
  isEntry?: boolean;
  imports?: string[];
  dynamicImports?: string[];
}

const firstLoadMax = 250_000;
const filesPerPageMax = 30;
beforeAll(() => ensureDashboard());

function readManifest(): Record<string, Chunk> {
  return JSON.parse(readFileSync(join(dashboardFolder, '.vite/manifest.json'), 'utf8'));
}

const pagesOf = (chunks: Record<string, Chunk>) =>
  Object.keys(chunks).filter((name) => /^app\/pages\/.*\.tsx$/.test(name));

/** A chunk and everything it imports. */
function withImports(chunks: Record<string, Chunk>, start: readonly string[]): Set<string> {
  const found = new Set<string>();
  const add = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    for (const next of chunks[name]?.imports ?? []) add(next);
  };
  for (const name of start) add(name);
  return found;
}

test('the first page loads at most 250 kB of compressed JavaScript, shell and overview included', () => {
  const chunks = readManifest();
  const entry = Object.keys(chunks).filter((name) => chunks[name]?.isEntry);
  const first = [
    'app/shell/organization-gate.tsx',
    'app/shell/shell.tsx',
    'app/pages/home.tsx',
    'app/pages/overview/overview.tsx',
  ];
  const names = withImports(chunks, [...entry, ...first]);
  expect(first.every((name) => names.has(name) && chunks[name])).toBe(true);
  const files = new Set([...names].map((name) => chunks[name]?.file ?? ''));
  const bytes = [...files]
    .filter((file) => file.endsWith('.js'))
    .reduce((sum, file) => sum + readFileSync(join(dashboardFolder, `${file}.gz`)).length, 0);
  console.log(`first load: ${(bytes / 1000).toFixed(1)} kB gzip`);
  expect(bytes).toBeLessThanOrEqual(firstLoadMax);
});

test('no page is more than thirty files: each is a question of the browser', () => {
  const chunks = readManifest();
  const frame = [
    ...Object.keys(chunks).filter((name) => chunks[name]?.isEntry),
    'app/shell/organization-gate.tsx',
    'app/shell/shell.tsx',
  ];
  const pages = pagesOf(chunks);
  const files = pages.map((page) => ({ page, count: withImports(chunks, [...frame, page]).size }));
  expect(files.filter(({ count }) => count > filesPerPageMax)).toEqual([]);
});

test('every page is a file of its own that the first load leaves out', () => {
  const chunks = readManifest();
  const pages = pagesOf(chunks);
  expect(pages.length).toBeGreaterThan(20);
  const first = withImports(
    chunks,
    Object.keys(chunks).filter((name) => chunks[name]?.isEntry),
  );
  expect(pages.filter((name) => first.has(name))).toEqual([]);
});
