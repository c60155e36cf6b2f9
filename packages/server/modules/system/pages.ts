import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathOf } from '@holdfast/contract';
import type { FastifyInstance } from 'fastify';
import { version } from '../../version.ts';
import { serveDashboard } from './dashboard.ts';

const style = `
:root { color-scheme: light dark; --ink: light-dark(#17211d, #e6ece9); --soft: light-dark(#5b6a63, #9fb0a8); --line: light-dark(#dde4e0, #2c3833); --mark: light-dark(#0f6b4b, #5fd3a5); --ground: light-dark(#fff, #121815); }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem; max-width: 60rem; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--ground); }
h1 { margin: 0 0 .25rem; font-size: 1.9rem; letter-spacing: -.02em; } h2 { margin: 2.5rem 0 .5rem; font-size: 1.25rem; }
p { margin: .4rem 0; } .soft, td small { color: var(--soft); } a { color: var(--mark); }
table { width: 100%; border-collapse: collapse; } td { padding: .55rem .6rem .55rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td:first-child { white-space: nowrap; font-weight: 600; font-size: .8rem; color: var(--mark); padding-top: .7rem; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
`;

/** Nothing is loaded from elsewhere and no script runs. */
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/** The documentation has its own style and script, from this origin only. */
const docsPolicy =
  "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/**
 * The pages for browsers: the dashboard, or a plain start page if it was not built, and the documentation of the API.
 */
export function servePages(app: FastifyInstance, dashboardFolder: string | undefined): void {
  const hasDashboard = dashboardFolder !== undefined && serveDashboard(app, dashboardFolder);
  const html = 'text/html; charset=utf-8';
  const files = [
    ...(hasDashboard ? [] : [{ path: '/', type: html, read: frontPage, policy }]),
    { path: '/docs', type: html, read: docsText, policy: docsPolicy },
    { path: '/docs/docs.css', type: 'text/css; charset=utf-8', read: () => docsFile('docs.css'), policy },
    { path: '/docs/docs.js', type: 'text/javascript; charset=utf-8', read: () => docsFile('docs.js'), policy },
  ];
  for (const { path, type, read, policy } of files)
    app.get(path, async (_request, reply) =>
      reply
        .header('content-security-policy', policy)
        .type(type)
        .send(await read()),
    );
}

let docs: Promise<string> | undefined;

/** Rendered for the first reader: most processes never have one, and it takes longer than much of their start. */
function docsText(): Promise<string> {
  docs ??= import('./docs/docs-page.ts').then(({ docsPage }) => docsPage());
  return docs;
}

const docsFile = (name: string) => readFile(join(import.meta.dirname, 'docs', name), 'utf8');

function frontPage(): string {
  return page(
    'Holdfast',
    `
    <h1>Holdfast</h1>
    <p class="soft">Backups of Firestore that hold. Version ${version}.</p>
    <p>The service is running. See the <a href="/docs">API documentation</a>, its <a href="${pathOf('getOpenApi')}">OpenAPI document</a>, or <a href="/health">how it is doing</a>.</p>
    <p>To sign in on a fresh installation, open the link that the server printed when it started.</p>`,
  );
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${style}</style></head><body><main>${body}</main></body></html>`;
}
