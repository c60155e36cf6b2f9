import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommand } from '@holdfast/server/platform/command-options';
import type { BrowserContext, Page } from 'playwright-core';
import { desktop, launchBrowser, phone } from '../packages/web/testing/browser.ts';
import { type Picture, smallPng } from './small-png.ts';

/**
 * Pictures of the main pages, taken from the demo, for README.md and docs/dashboard.md. Says of each how much of it differs
 * from the last one, so that a change of the pages is seen; with --check nothing is written.
 */
const { values } = readCommand({
  usage: 'npm run pictures --',
  about: 'Takes the pictures of the main pages anew from the demo, into docs/pictures.',
  options: { check: { type: 'boolean', default: false, about: 'write nothing; say how much of each differs' } },
});
const folder = fileURLToPath(new URL('../docs/pictures', import.meta.url));
const port = process.env.PORT ?? '8797';
const base = `http://127.0.0.1:${port}`;
const startTimeoutMs = 240_000;
const pictureBytesMax = 150_000;

interface Organization {
  readonly slug: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely, as in tests
  call(method: 'GET' | 'POST', path: string, body?: object): Promise<any>;
}

async function main(): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'holdfast-pictures-'));
  const demo = spawn(process.execPath, ['scripts/demo.ts'], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    // Days have passed, so that the line of time shows more than a minute.
    env: { ...process.env, HOLDFAST_DATA: data, PORT: port, DEMO_DAYS: '12' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const browser = await launchBrowser();
  try {
    const link = await signInLink(demo.stdout);
    const context = await browser.newContext({ viewport: desktop, baseURL: base, reducedMotion: 'reduce' });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const organization = await enter(page, context, link);
    await mkdir(folder, { recursive: true });
    for (const [name, picture] of Object.entries(await takeAll(page, organization)))
      await keep(await context.newPage(), name, picture);
  } finally {
    await browser.close();
    demo.kill('SIGTERM');
    await new Promise((resolve) => demo.once('exit', resolve));
    await rm(data, { recursive: true, force: true });
  }
}

async function signInLink(output: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  const deadline = setTimeout(() => output.emit('error', new Error('the demo did not start in time')), startTimeoutMs);
  try {
    for await (const chunk of output) {
      text += String(chunk);
      const found = /Sign in: (\S+)/.exec(text)?.[1];
      if (found) return found;
    }
  } finally {
    clearTimeout(deadline);
  }
  throw new Error(`the demo ended early:\n${text}`);
}

async function enter(page: Page, context: BrowserContext, link: string): Promise<Organization> {
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/o/*');
  const slug = new URL(page.url()).pathname.split('/')[2] ?? '';
  const me = await (await context.request.get('/api/v1/auth/me')).json();
  const headers = { origin: base, 'x-organization-id': me.data.organizations[0].id as string };
  return {
    slug,
    call: async (method, path, body) => {
      const answer = await context.request.fetch(`/api/v1${path}`, {
        method,
        headers,
        ...(body ? { data: body } : {}),
      });
      if (!answer.ok()) throw new Error(`${method} ${path}: ${await answer.text()}`);
      return answer.headers()['content-type']?.includes('json') ? (await answer.json()).data : undefined;
    },
  };
}

/** What the story left behind, and a drill beside it. */
async function takeAll(page: Page, { slug, call }: Organization): Promise<Record<string, Buffer>> {
  const projects = await call('GET', '/projects');
  const project = projects.find(({ name }: { name: string }) => name === 'Demo shop');
  const backups = await call('GET', `/backups?status=completed&projectId=${project.id}`);
  // Those of the story, with the accident between them.
  const made = (wanted: string) =>
    backups.find(({ type, trigger }: { type: string; trigger: string }) => type === wanted && trigger === 'manual');
  const full = made('full');
  await call('POST', `/backups/${full.id}/drill`);
  await until(async () => (await call('GET', '/drills'))[0]?.status === 'completed');
  await until(async () => (await call('GET', `/projects/${project.id}/pitr`)).coveredFrom !== null);
  await call('POST', '/organizations/current/recovery-kit');
  const increment = made('incremental');
  const { changed } = await call('GET', `/backups/${full.id}/diff?against=${increment.id}`);
  const [document] = changed.toSorted((a: { path: string }, b: { path: string }) => a.path.length - b.path.length);
  const [restore] = await call('GET', '/backups/restore');
  const pages: Record<string, string> = {
    overview: '',
    backups: '/backups',
    restore: `/restores/${restore.id}`,
    'point-in-time': `/projects/${project.id}/time`,
    schedule: '/schedules/new',
    drills: '/restores?tab=drills',
  };
  const taken: Record<string, Buffer> = {};
  for (const [name, path] of Object.entries(pages)) taken[name] = await take(page, `/o/${slug}${path}`);
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  taken['overview-dark'] = await take(page, `/o/${slug}`);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize(phone);
  taken['overview-phone'] = await take(page, `/o/${slug}`);
  // Last, as it harms the database: the accident stands there again, and what was good is about to come back.
  const accident = { backupId: increment.id, documentIds: [document.path] };
  const harm = await call('POST', '/backups/restore', accident);
  // The clock of the demo is ahead by less than a minute: what is drawn as now lies behind what was done.
  await until(async () => {
    const { status, completedAt } = await call('GET', `/backups/restore/${harm.id}`);
    return status === 'completed' && Date.parse(completedAt) < Date.now();
  });
  await page.setViewportSize(desktop);
  const good = `/restores/new?backupId=${full.id}&documents=${encodeURIComponent(document.path)}`;
  taken.document = await take(page, `/o/${slug}/projects/${project.id}/documents/${document.path}`);
  taken.preview = await take(page, `/o/${slug}${good}`);
  return taken;
}

async function take(page: Page, path: string): Promise<Buffer> {
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' });
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
  if (path.includes('/restores/new')) await page.getByRole('heading', { name: 'This is what will happen' }).waitFor();
  // What comes in pieces has come: charts are drawn, samples are read.
  await page.waitForTimeout(2000);
  return page.screenshot();
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 180; tries++) {
    if (await isDone()) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('the demo did not get ready for its pictures');
}

async function keep(page: Page, name: string, picture: Buffer): Promise<void> {
  const path = join(folder, `${name}.png`);
  const last = await readFile(path).catch(() => undefined);
  const points = await pointsOf(page, picture);
  const percent = last ? await differenceOf(page, last, points) : 100;
  const packed = smallPng(points);
  const size = `${Math.ceil(packed.length / 1000)} kB`;
  console.log(`${name}: ${last ? `${percent.toFixed(1)} % of it differs from the last one` : 'new'}, ${size}`);
  if (packed.length > pictureBytesMax) throw new Error(`${name} has ${size}, more than a repository should carry`);
  if (!values.check) await writeFile(path, packed);
  await page.close();
}

/** The browser reads a picture: its points, four bytes each. */
const readPoints = `async (source) => {
  const image = await createImageBitmap(await (await fetch(source)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
  canvas.drawImage(image, 0, 0);
  return canvas.getImageData(0, 0, image.width, image.height);
}`;

async function pointsOf(page: Page, picture: Buffer): Promise<Picture> {
  const { width, height, text } = (await page.evaluate(
    `(${readPoints})(${asAddress(picture)}).then(async ({ width, height, data }) => {
      const reader = new FileReader();
      const read = new Promise((resolve) => { reader.onload = resolve; });
      reader.readAsDataURL(new Blob([data]));
      await read;
      return { width, height, text: reader.result.split(',')[1] };
    })`,
  )) as { width: number; height: number; text: string };
  return { width, height, points: Buffer.from(text, 'base64') };
}

const asAddress = (picture: Buffer) => JSON.stringify(`data:image/png;base64,${picture.toString('base64')}`);

/** How many of a hundred points are not the same colour. */
async function differenceOf(page: Page, last: Buffer, next: Picture): Promise<number> {
  const { points } = await pointsOf(page, last);
  if (points.length !== next.points.length) return 100;
  let differing = 0;
  for (let at = 0; at < points.length; at += 4) {
    const apart = (offset: number) => Math.abs((points[at + offset] ?? 0) - (next.points[at + offset] ?? 0));
    if (apart(0) + apart(1) + apart(2) > 24) differing++;
  }
  return (differing / (points.length / 4)) * 100;
}

await main();
