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

test('the lock file holds the native parts of every platform Holdfast runs on', () => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { dev?: boolean; optionalDependencies?: Record<string, string> }>;
  };
  const locked = Object.keys(lock.packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13));
  const missing = Object.values(lock.packages).flatMap((entry) =>
    Object.keys(entry.optionalDependencies ?? {})
      // What only a developer runs may be missing on macOS; what installs or serves may not.
      .filter((name) => (entry.dev ? /linux-(x64|arm64)(-gnu)?$/ : /(linux|darwin)-(x64|arm64)(-gnu)?$/).test(name))
      .filter((name) => name !== '@fireemu/linux-x64' && !locked.includes(name)),
  );
  expect(missing).toEqual([]);
});
