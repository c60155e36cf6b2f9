import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Where the built dashboard lies. */
export const dashboardFolder = fileURLToPath(new URL('dist', import.meta.url));

const root = fileURLToPath(new URL('.', import.meta.url));
const contract = fileURLToPath(new URL('../contract', import.meta.url));
const stampFile = join(dashboardFolder, '.built-from');
const lockFolder = join(root, '.building');
const lockAgeMaxMs = 180_000;
const compressed = new Set(['.js', '.css', '.html', '.svg', '.json']);
const skipped = new Set(['dist', 'dist.next', 'node_modules', 'tests', 'testing', '.building', 'openapi.json']);

/** Builds the dashboard unless what lies there was built from these very sources. Several processes may ask at once. */
export async function ensureDashboard(say: (line: string) => void = () => undefined): Promise<void> {
  const wanted = await fingerprint();
  if ((await readStamp()) === wanted) return;
  await withLock(async () => {
    if ((await readStamp()) === wanted) return;
    say('Building the dashboard …');
    const startedMs = performance.now();
    await build(wanted);
    say(`Built the dashboard in ${((performance.now() - startedMs) / 1000).toFixed(1)} s.`);
  });
}

/** Into a folder beside the old one, which is replaced only by a whole one. */
async function build(stamp: string): Promise<void> {
  const [vite, { default: config }] = await Promise.all([import('vite'), import('./vite.config.ts')]);
  const next = join(root, 'dist.next');
  await rm(next, { recursive: true, force: true });
  await inProduction(() =>
    vite.build({ ...config, configFile: false, logLevel: 'warn', build: { ...config.build, outDir: next } }),
  );
  await compress(next);
  await writeFile(join(next, '.built-from'), stamp);
  await rm(dashboardFolder, { recursive: true, force: true });
  await rename(next, dashboardFolder);
}

/** Whoever asks for the build, what is built is what people get: libraries look at this variable. */
async function inProduction(work: () => Promise<unknown>): Promise<void> {
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = 'production';
  try {
    await work();
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  }
}

async function compress(folder: string): Promise<void> {
  const brotli = promisify(brotliCompress);
  for (const path of await filesIn(folder)) {
    if (!compressed.has(extname(path))) continue;
    const body = await readFile(path);
    await writeFile(`${path}.br`, await brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }));
    await writeFile(`${path}.gz`, await promisify(gzip)(body, { level: 9 }));
  }
}

/** Contents, not dates: a checkout gives every file the same age. */
async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of [root, contract]) {
    for (const path of await filesIn(folder)) {
      if (path.endsWith('.test.ts')) continue;
      hash
        .update(relative(folder, path))
        .update('\0')
        .update(await readFile(path))
        .update('\0');
    }
  }
  return hash.digest('hex');
}

async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (skipped.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await filesIn(path)));
    else if (entry.isFile()) found.push(path);
  }
  return found;
}

async function readStamp(): Promise<string | undefined> {
  return readFile(stampFile, 'utf8').catch(() => undefined);
}

/** A folder is made by one process alone. One left behind by a process that died is taken over. */
async function withLock(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await mkdir(lockFolder);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const made = await stat(lockFolder).catch(() => undefined);
    if (made && Date.now() - made.mtimeMs > lockAgeMaxMs) await rm(lockFolder, { recursive: true, force: true });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  try {
    await work();
  } finally {
    await rm(lockFolder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await ensureDashboard((line) => process.stdout.write(`${line}\n`)).catch((error: unknown) => {
    // An installation is good without it: the service builds it when it starts.
    process.stderr.write(`The dashboard was not built: ${error instanceof Error ? error.message : String(error)}\n`);
  });
}
