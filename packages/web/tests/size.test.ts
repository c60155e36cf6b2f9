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
beforeAll(() => ensureDashboard());

/** A chunk and everything it cannot do without. */
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
  const chunks = JSON.parse(readFileSync(join(dashboardFolder, '.vite/manifest.json'), 'utf8')) as Record<
    string,
    Chunk
  >;
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

test('every page is a file of its own that the first load leaves out', () => {
  const chunks = JSON.parse(readFileSync(join(dashboardFolder, '.vite/manifest.json'), 'utf8')) as Record<
    string,
    Chunk
  >;
  const pages = Object.keys(chunks).filter((name) => /^app\/pages\/.*\.tsx$/.test(name));
  expect(pages.length).toBeGreaterThan(20);
  const first = withImports(
    chunks,
    Object.keys(chunks).filter((name) => chunks[name]?.isEntry),
  );
  expect(pages.filter((name) => first.has(name))).toEqual([]);
});
