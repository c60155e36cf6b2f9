import { documentedOperations, type ErrorCode, errorCodes, errorDefinition, pathOf } from '@holdfast/contract';
import { version } from '../../../version.ts';
import { callHtml } from './call-html.ts';
import { document } from './document.ts';
import { escapeHtml, inline, json, prose, searchable } from './html.ts';
import { fieldNames, formsHtml } from './schema-html.ts';

/** The readable documentation: every call, event, error and record on one page that loads nothing from elsewhere. */
export function docsPage(): string {
  const sections = [...tagSections(), eventsSection(), errorsSection(), schemasSection()];
  const links = sections.map(({ id, title }) => `<li><a href="#${id}">${escapeHtml(title)}</a></li>`);
  const bodies = sections.map(
    ({ id, title, intro, entries }) =>
      `<section id="${id}"><h2>${escapeHtml(title)}</h2>${intro}${entries.join('\n')}</section>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Holdfast API</title>
<link rel="stylesheet" href="/docs/docs.css"><script src="/docs/docs.js" defer></script></head>
<body><header><h1>Holdfast API</h1><p class="soft">Version ${version} · <a href="${pathOf('getOpenApi')}">OpenAPI 3.1</a></p>
<div class="search" role="search" hidden><label for="search">Search</label><input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="undo, /schedules, retention, RATE_LIMITED …"><output for="search" id="found"></output></div></header>
<nav aria-label="Contents"><ul>${links.join('')}</ul></nav>
<main>${introduction}${bodies.join('\n')}</main></body></html>`;
}

interface Section {
  id: string;
  title: string;
  intro: string;
  entries: string[];
}

const introduction = prose(
  `Send \`Authorization: Bearer <access token or API key>\`, and \`X-Organization-Id\` for calls inside an organization; an API key knows its own. Bodies are JSON.

Good answers are \`{"success": true, "data": …}\`, lists add \`"pagination": {"nextCursor", "hasMore"}\`: give \`nextCursor\` back as \`cursor\`. Errors are \`{"success": false, "error": {"code", "message", "details", "requestId"}}\`.`,
);

const slug = (text: string) => text.toLowerCase().replace(/[^a-z]+/g, '-');

function tagSections(): Section[] {
  const byTag = Map.groupBy(documentedOperations, (operation) => operation.tag);
  return document.tags.flatMap(({ name, description }) => {
    const operations = byTag.get(name);
    if (!operations) return [];
    const inOrder = operations.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    const entries = inOrder.map((operation) => {
      const call = document.paths[operation.path]?.[operation.method.toLowerCase()];
      return call ? callHtml(operation, call) : '';
    });
    return [{ id: slug(name), title: name, intro: prose(description), entries }];
  });
}

function entry(id: string, title: string, words: (string | undefined)[], inside: string): string {
  return `<details class="entry" id="${id}" data-words="${searchable(words)}"><summary>${title}</summary><div class="inside">${inside}</div></details>`;
}

function eventsSection(): Section {
  const entries = Object.entries(document.webhooks).map(([name, { post }]) => {
    const media = post.requestBody?.content['application/json'];
    const inside = `${prose(post.description)}${media ? `${formsHtml(media.schema)}${json(media.examples?.sample?.value)}` : ''}`;
    const title = `<code>${escapeHtml(name)}</code> <span class="summary">${escapeHtml(post.summary)}</span>`;
    return entry(`event-${name}`, title, [name, post.summary, post.description], inside);
  });
  return { id: 'events', title: 'Events', intro: prose('What is sent to webhooks.'), entries };
}

function errorsSection(): Section {
  const entries = errorCodes.map((code) => {
    const { status, description, job } = errorDefinition(code);
    const advice = job ? `<p>As the error of a job: ${inline(job.advice)}</p>` : '';
    const title = `<code>${code}</code> <span class="summary">${status}</span>`;
    return entry(`error-${code}`, title, [code, description], `<p>${inline(description)}</p>${advice}${details(code)}`);
  });
  return { id: 'errors', title: 'Errors', intro: prose('Every code an answer or a job can carry.'), entries };
}

function details(code: ErrorCode): string {
  const schema = Object.values(document.components.schemas).find(({ properties }) => {
    const named = properties?.code;
    return typeof named === 'object' && named.const === code;
  });
  const detailsSchema = schema?.properties?.details;
  return typeof detailsSchema === 'object' ? `<h4>Details</h4>${formsHtml(detailsSchema)}` : '';
}

function schemasSection(): Section {
  const entries = Object.entries(document.components.schemas).map(([name, schema]) =>
    entry(
      `schema-${name}`,
      `<code>${name}</code> <span class="summary">${escapeHtml(schema.description ?? '')}</span>`,
      [name, schema.description, ...fieldNames(schema)],
      formsHtml(schema),
    ),
  );
  return { id: 'records', title: 'Records', intro: prose('The shapes that calls and events share.'), entries };
}
