import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { dashboardFolder, ensureDashboard } from '@holdfast/web/build';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../../server/testing/chromium.ts';
import { startTestApp, type TestApp } from '../../server/testing/test-app.ts';

/** Without a browser on the machine these tests are reported as skipped. */
export const hasChromium = chromiumPath !== undefined;

export const phone = { width: 390, height: 844 };
export const desktop = { width: 1440, height: 900 };

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Complaints of the browser: policy reports, exceptions, errors on the console. */
  readonly complaints: string[];
}

export interface TestDashboard {
  readonly app: TestApp;
  /** Opens a browser context for another person, signed in if a token is given. */
  visit(token?: string, viewport?: { width: number; height: number }): Promise<Visitor>;
  close(): Promise<void>;
}

/** A fresh service with the real dashboard, and a real browser. */
export async function startDashboard(
  environment: Record<string, string> = {},
  overrides: Parameters<typeof startTestApp>[1] = {},
): Promise<TestDashboard> {
  await ensureDashboard();
  const app = await startTestApp(environment, { ...overrides, dashboardFolder });
  let browser = await launchBrowser(shortLived);
  const visitors: Visitor[] = [];
  return {
    app,
    visit: async (token, viewport = desktop) => {
      let opening = newVisitor(browser, app, token, viewport);
      // A browser that was not used yet may be replaced.
      if (visitors.length === 0 && !(await endsWithin(opening, firstPageMsMax))) {
        await kill(browser);
        browser = await launchBrowser(shortLived);
        opening = newVisitor(browser, app, token, viewport);
      }
      const visitor = await opening;
      visitors.push(visitor);
      return visitor;
    },
    close: async () => {
      if (!(await endsWithin(browser.close(), closeMsMax))) await kill(browser);
      await app.close();
      const complaints = visitors.flatMap((visitor) => visitor.complaints);
      if (complaints.length > 0) throw new Error(`the browser complained:\n${complaints.join('\n')}`);
    },
  };
}

const launchMsMax = 60_000;
const firstPageMsMax = 30_000;
const closeMsMax = 30_000;
const launchesMax = 3;
/** A mark in the command line of its processes. */
const marks = new WeakMap<Browser, string>();

/**
 * A page of a test lives for seconds: compiling its scripts once more, for a long life, costs a tenth of the browser's
 * processor time. Where a browser is measured, it is as people have it.
 */
const shortLived = process.env.LONG_LISTS_REPORT ? [] : ['--js-flags=--no-opt --no-maglev'];

/** A browser that hangs at its start, as happens on a busy machine, is replaced. */
export async function launchBrowser(manner: readonly string[] = []): Promise<Browser> {
  if (!chromiumPath) throw new Error('there is no Chromium');
  for (let launches = 1; ; launches += 1) {
    const mark = `--mark=${randomUUID()}`;
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', ...manner, mark];
    const browser = await chromium.launch({ executablePath: chromiumPath, args, timeout: launchMsMax });
    marks.set(browser, mark);
    const opened = browser.newPage().then((page) => page.close());
    if (await endsWithin(opened, firstPageMsMax)) return browser;
    await kill(browser);
    if (launches === launchesMax) throw new Error('the browser opens no page');
  }
}

async function endsWithin(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const isOver = work.then(
    () => true,
    () => false,
  );
  return Promise.race([isOver, sleep(milliseconds, false, { ref: false })]);
}

/** It hangs, so it is killed. */
async function kill(browser: Browser): Promise<void> {
  const mark = marks.get(browser)!;
  for (const id of await readdir('/proc').catch(() => [])) {
    const command = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
    if (/^\d+$/.test(id) && command.includes(mark)) process.kill(Number(id), 'SIGKILL');
  }
}

async function newVisitor(
  browser: Browser,
  app: TestApp,
  token: string | undefined,
  viewport: { width: number; height: number },
): Promise<Visitor> {
  const context = await browser.newContext({ viewport, baseURL: app.address, reducedMotion: 'reduce' });
  // No promise about speed: a machine with other work beside takes several times as long.
  context.setDefaultTimeout(60_000);
  if (token) {
    const { hostname } = new URL(app.address);
    await context.addCookies([
      {
        name: 'holdfast_access',
        value: token,
        domain: hostname,
        path: '/',
        httpOnly: true,
        secure: true,
        sameSite: 'Lax',
      },
    ]);
  }
  const complaints: string[] = [];
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    // A refused call is an answer that the page shows; the browser logs it too.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(`console: ${message.text()}`);
  });
  await page.exposeFunction('tellViolation', (what: string) => void complaints.push(`policy: ${what}`));
  await page.addInitScript(
    `document.addEventListener('securitypolicyviolation', (event) =>
      tellViolation(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample))`,
  );
  return { page, context, complaints };
}
