import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `npm pack` here makes a package for everybody: JavaScript and types, for Node 20 and later. In this repository the
 * sources are imported directly, so the package needs another manifest, which replaces ours while packing.
 */

const here = (name: string) => join(import.meta.dirname, name);
const kept = here('package.json.kept');

function prepare(): void {
  restore();
  rmSync(here('dist'), { recursive: true, force: true });
  // Several checkers would each compute the same imported types.
  execFileSync('tsc', ['-p', here('tsconfig.build.json'), '--singleThreaded'], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  for (const file of readdirSync(here('dist'), { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.d.ts')) nameBuiltFiles(here(join('dist', file)));
  copyFileSync(here('package.json'), kept);
  copyFileSync(here('../../LICENSE'), here('LICENSE'));
  writeFileSync(here('package.json'), `${JSON.stringify(packedManifest(), null, 2)}\n`);
}

/** The compiler leaves the names of the source files in declarations. */
function nameBuiltFiles(file: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/(from |import\()(["'])(\.{1,2}\/[^"']+)\.ts\2/g, '$1$2$3.js$2'));
}

/** Also after an interrupted run. */
function restore(): void {
  if (existsSync(kept)) renameSync(kept, here('package.json'));
  rmSync(here('LICENSE'), { force: true });
}

function packedManifest(): object {
  const { name, version, description, license, dependencies } = JSON.parse(readFileSync(kept, 'utf8'));
  const built = (file: string) => ({ types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` });
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    engines: { node: '>=20' },
    sideEffects: false,
    files: ['dist', 'openapi.json'],
    exports: {
      '.': built('index'),
      './client': built('client'),
      './webhooks': built('webhooks'),
      './openapi.json': './openapi.json',
    },
    dependencies,
  };
}

const steps: Readonly<Record<string, () => void>> = { prepare, restore };
steps[process.argv[2] ?? '']?.();
