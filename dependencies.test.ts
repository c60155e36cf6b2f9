import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('every direct dependency earns a line in docs/dependencies.md', () => {
  const explained = readFileSync('docs/dependencies.md', 'utf8');
  const manifests = ['package.json', ...globSync('{bench,packages/*}/package.json')];
  const missing = manifests.flatMap((path) => {
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Record<string, string> | undefined>;
    return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).filter(
      (name) => !name.startsWith('@holdfast/') && !explained.includes(`\`${name}\``),
    );
  });
  expect([...new Set(missing)]).toEqual([]);
});

test('the lock file holds the native parts of every platform: `npm ci`, and so the image, refuses one that lacks any', () => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>;
  };
  const locked = Object.keys(lock.packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13));
  const missing = Object.values(lock.packages).flatMap((entry) =>
    Object.keys(entry.optionalDependencies ?? {}).filter((name) => !locked.includes(name)),
  );
  expect(missing).toEqual([]);
});
