import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { documentedOperations, errorCodes, errorsOf, eventNames, requestExamples } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { chromiumPath } from '../../../testing/chromium.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import { document, parameterOf } from './document.ts';
import { exampleOf } from './example.ts';
import { escapeHtml } from './html.ts';

let app: TestApp;
let page: string;
let policy: string;

beforeAll(async () => {
  app = await startTestApp();
  const answer = await app.request('GET', '/docs');
  page = answer.text;
  policy = answer.headers.get('content-security-policy') ?? '';
});
afterAll(() => app.close());

const partOf = (id: string) => {
  const start = page.indexOf(`id="${id}"`);
  return start < 0 ? '' : page.slice(start, page.indexOf('</details>', start));
};

describe('the page of the documentation', () => {
  test('shows for every call its parameters, its body, an example of it, its answers and its errors', () => {
    for (const operation of documentedOperations) {
      const shown = partOf(operation.id);
      const call = document.paths[operation.path]?.[operation.method.toLowerCase()];
      expect(shown, operation.id).toContain(`<code>${escapeHtml(operation.path)}</code>`);
      for (const parameter of call!.parameters)
        expect(shown, operation.id).toContain(`<code>${parameterOf(parameter).name}</code>`);
      for (const code of errorsOf(operation)) expect(shown, operation.id).toContain(code);
      expect(shown, operation.id).toContain(`Answer ${operation.success.status}`);
      if (!operation.body) continue;
      const example: unknown = requestExamples[operation.id as keyof typeof requestExamples];
      expect(shown, operation.id).toContain('Body');
      expect(shown, operation.id).toContain(escapeHtml(JSON.stringify(example, null, 2).replaceAll("'", "'\\''")));
    }
  });

  test('shows every event, every error and every record', () => {
    for (const name of eventNames) expect(partOf(`event-${name}`)).toContain('<pre>');
    for (const code of errorCodes) expect(partOf(`error-${code}`)).not.toBe('');
    for (const name of Object.keys(document.components.schemas)) expect(partOf(`schema-${name}`)).not.toBe('');
  });

  test('has no broken links', () => {
    const targets = new Set([...page.matchAll(/\bid="([^"]+)"/g)].map((match) => match[1]));
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map((match) => match[1]);
    expect(links.length).toBeGreaterThan(500);
    expect(links.filter((link) => !targets.has(link))).toEqual([]);
  });

  test('loads only from its own origin, and runs only its own script file', async () => {
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toContain('unsafe');
    const loaded = [...page.matchAll(/<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="([^"]+)"/g)].map(
      ([, url]) => url,
    );
    expect(loaded).toEqual(['/docs/docs.css', '/docs/docs.js']);
    expect(page).not.toMatch(/<style|\son\w+=|\sstyle=/);
    for (const file of loaded) expect((await app.request('GET', file!)).status).toBe(200);
  });
});

test('an answer that the page shows as an example matches the contract', () => {
  for (const operation of documentedOperations) {
    for (const success of [operation.success, ...(operation.alternatives ?? [])]) {
      if (!('schema' in success) || !success.schema || success.kind === 'stream') continue;
      const answer = document.paths[operation.path]![operation.method.toLowerCase()]!.responses[success.status]!;
      const shown = answer.content?.['application/json'];
      if (!shown) continue;
      const example = exampleOf(shown.schema) as { data?: unknown };
      const promised = success.kind === 'list' ? z.array(success.schema) : success.schema;
      const result = promised.safeParse(success.kind === 'bare' ? example : example.data);
      expect(result.error?.issues ?? [], operation.id).toEqual([]);
    }
  }
});

/** The page in a real browser, where one is installed. */
describe.skipIf(chromiumPath === undefined)('in a browser', () => {
  const open = async (path: string) => {
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--dump-dom'];
    const { stdout } = await promisify(execFile)(chromiumPath!, [...flags, new URL(path, app.address).href], {
      maxBuffer: 64 * 1024 * 1024,
      timeout: 60_000,
    });
    return stdout;
  };
  const visible = (dom: string) =>
    [...dom.matchAll(/<details class="entry" id="([^"]+)"([^>]*)>/g)]
      .filter(([, , attributes]) => !attributes!.includes('hidden'))
      .map(([, id]) => id);

  test('a search shows the entries that contain all its words, in any place', { tags: 'long' }, async () => {
    const found = visible(await open('/docs?q=legal%20hold'));
    expect(found).toContain('holdBackup');
    expect(found).not.toContain('listMembers');
    expect(visible(await open('/docs?q=readRateLimit'))).toContain('updateProject');
  });

  test('an address that names a call opens it', async () => {
    expect(await open('/docs#createBackup')).toMatch(/<details class="entry" id="createBackup"[^>]* open/);
  });
});
