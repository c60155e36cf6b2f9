import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

/** The package of an import; undefined for files of our own and for what Node brings along. */
function packageOf(name: string): string | undefined {
  if (name.startsWith('.') || isBuiltin(name)) return undefined;
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

test('an installation without the tools of development has everything that builds the dashboard', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  const sources = ['build.ts', 'vite.config.ts', ...globSync('app/**/*.{ts,tsx}', { cwd: folder })];
  expect(sources.length).toBeGreaterThan(100);
  const imported = sources.flatMap((path) =>
    [...read(path).matchAll(/^(?:import|export)\s(?:[^;'=(]*\sfrom\s)?'([^']+)';|import\('([^']+)'\)/gm)].map(
      ([, named, loaded]) => packageOf(named ?? loaded ?? ''),
    ),
  );
  const stylesheet = [...read('app/styles.css').matchAll(/@import ['"]([^'"]+)['"]/g)].map(([, name]) => name);
  const needed = new Set([...imported, ...stylesheet].filter((name) => name !== undefined));
  expect([...needed].filter((name) => !(name in dependencies))).toEqual([]);
});
