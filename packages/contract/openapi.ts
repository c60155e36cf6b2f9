import { headerParameters, headers } from './openapi/headers.ts';
import { describeOperation } from './openapi/operations.ts';
import { ResponseCollection } from './openapi/responses.ts';
import { SchemaCollection } from './openapi/schemas.ts';
import { describeWebhooks } from './openapi/webhooks.ts';
import type { Operation } from './operation.ts';
import { documentedOperations } from './operations/index.ts';

export const apiVersion = '2.0.0';

const description = `Backs up, restores and proves Firestore databases.

Every good answer is \`{success: true, data}\` or \`{success: true, message}\`, every error
\`{success: false, error: {code, message, details, requestId}}\`. Lists add \`pagination {nextCursor, hasMore}\`; give
\`nextCursor\` back as \`cursor\`. Send the organization's id as \`X-Organization-Id\`.`;

const tagDescriptions: Readonly<Record<string, string>> = {
  Authentication: 'Signing in, tokens and sessions.',
  Organizations: 'Organizations, their settings, subscription and encryption key.',
  Team: 'Members, invitations and the service account.',
  Overview: 'The state of everything, and what changes.',
  Projects: 'The Firestore databases that are backed up.',
  'Point-in-time recovery': 'Going back to any captured instant.',
  'Storage destinations': 'Where backups are stored.',
  Backups: 'Taking, proving, keeping and deleting backups.',
  'Backup contents': 'Looking inside a backup without restoring it.',
  Restores: 'Bringing data back.',
  Schedules: 'Backups that start automatically.',
  Webhooks: 'Subscriptions to events, and the result of each delivery.',
  'Audit log': 'Who did what, and the proof that nothing was changed afterwards.',
  System: 'Health, metrics and this document.',
  Events: 'What Holdfast sends to webhooks.',
};

const securitySchemes = {
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'The access token of a sign-in, valid for an hour. Issued and verified by the rules of RFC8725: one pinned algorithm, issuer and audience.',
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'fb_sa_',
    description: 'The API key of a service account. It works in its own organization, within its scopes.',
  },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'holdfast_access',
    description: 'The session of a browser. Calls that change something need a same-origin `Origin`.',
  },
};

/** Ordered by tag, then by path: the same document in whatever order the modules are loaded. */
function inOrder(): readonly Operation[] {
  const tags = Object.keys(tagDescriptions);
  const key = (operation: Operation) =>
    `${String(tags.indexOf(operation.tag)).padStart(3, '0')} ${operation.path} ${operation.method}`;
  return documentedOperations.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

const sorted = (entries: Record<string, object>) =>
  Object.fromEntries(Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)));

function describePaths(schemas: SchemaCollection, responses: ResponseCollection) {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of inOrder()) {
    const described = describeOperation(operation, schemas, responses);
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: described };
  }
  return paths;
}

function usedTags() {
  const used = new Set([...documentedOperations.map((operation) => operation.tag), 'Events']);
  return Object.entries(tagDescriptions)
    .filter(([name]) => used.has(name))
    .map(([name, text]) => ({ name, description: text }));
}

/** The OpenAPI 3.1 document of everything that is served, generated from the schemas that validate it. */
export function createOpenApi(): object {
  const schemas = new SchemaCollection();
  const responses = new ResponseCollection(schemas);
  const paths = describePaths(schemas, responses);
  const webhooks = describeWebhooks(schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version: apiVersion,
      summary: 'Self-hostable backup service for Firestore.',
      description,
      contact: { name: 'The operator of this installation' },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This installation (production).', 'x-internal': false }],
    security: [{ accessToken: [] }],
    tags: usedTags(),
    paths,
    webhooks,
    components: {
      securitySchemes,
      headers,
      parameters: headerParameters,
      responses: sorted(responses.components),
      schemas: sorted(schemas.components),
    },
  };
}
