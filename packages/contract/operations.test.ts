import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { roleAtLeast, roles, scopes, scopesCover } from './access.ts';
import { errorCodes, errorDefinition, jobErrorCodes, notFoundByParameter } from './errors.ts';
import { requestExamples } from './examples.ts';
import type { Operation } from './operation.ts';
import { commonErrors, errorsOf } from './operation.ts';
import { allOperations, operations } from './operations/index.ts';
import { pathOf } from './path.ts';

const parametersIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
const title = (operation: Operation) => `${operation.method} ${operation.path}`;

describe.each(allOperations.map((operation) => [operation.id, operation] as const))('%s', (id, operation) => {
  test('declares who may call it', () => {
    expect(['public', 'person', 'organization']).toContain(operation.access.kind);
    if (operation.access.kind !== 'organization') return;
    expect(roles).toContain(operation.access.role);
    expect(operation.access.scope === null || scopes.includes(operation.access.scope)).toBe(true);
  });

  test('lets a read-only key change nothing', () => {
    if (operation.access.kind !== 'organization' || !operation.access.scope?.endsWith(':read')) return;
    // A preview computes and stores nothing.
    if (id === 'previewSchedule') return;
    expect(operation.method).toBe('GET');
  });

  test('names exactly the parameters of its path', () => {
    expect(Object.keys(operation.params?.shape ?? {}).sort()).toEqual(parametersIn(operation.path).sort());
  });

  test('declares the answer to an unknown id in its path', () => {
    for (const name of parametersIn(operation.path)) {
      const code = notFoundByParameter[name];
      expect(code, name).toBeDefined();
      expect(errorsOf(operation), name).toContain(code);
    }
  });

  test('lists only its own errors, each of them known', () => {
    expect(errorCodes).toEqual(expect.arrayContaining([...operation.errors]));
    const own = operation.errors.filter((code) => commonErrors(operation).includes(code));
    // A move can conflict without an idempotency key, and a public call can still refuse a credential.
    expect(own.filter((code) => code !== 'CONFLICT' && code !== 'ORGANIZATION_NOT_FOUND')).toEqual([]);
  });

  test('refuses unknown fields in its body', () => {
    if (!operation.body) return;
    const result = operation.body.safeParse({ surprise: 1, type: 's3' });
    const codes = JSON.stringify(result.error?.issues ?? []);
    expect(codes).toContain('surprise');
  });

  test('refuses any body that is not an object', () => {
    if (!operation.body) return;
    for (const wrong of [null, [], 'text', 7, true]) expect(operation.body.safeParse(wrong).success).toBe(false);
  });

  test('ignores unknown fields in a query', () => {
    const required = { token: 't', document: 'a/b', at: '2026-01-01T00:00:00Z' };
    expect(operation.query?.safeParse({ ...required, surprise: '1' }).success ?? true).toBe(true);
  });

  test('pages every list', () => {
    if (operation.success.kind !== 'list' && operation.success.kind !== 'page') return;
    expect(Object.keys(operation.query?.shape ?? {})).toEqual(expect.arrayContaining(['limit', 'cursor']));
  });

  test('answers 202 only with the address where the work can be watched', () => {
    if (operation.success.status === 202) expect(operation.location).toBe(true);
  });

  test('hides in a replay only fields that may be null', () => {
    for (const field of operation.secretFields ?? []) {
      const { schema } = operation.success as unknown as { schema: z.ZodObject };
      expect((schema.shape[field] as z.ZodType).safeParse(null).success).toBe(true);
    }
  });
});

test('every call with a body has an example that it accepts', () => {
  for (const operation of allOperations.filter(({ body }) => body)) {
    const example: unknown = requestExamples[operation.id as keyof typeof requestExamples];
    expect(operation.body!.safeParse(example).error?.issues ?? [], operation.id).toEqual([]);
  }
});

test('an operation is exported under its own id, and no id is used twice', () => {
  for (const [name, operation] of Object.entries(operations)) expect(operation.id).toBe(name);
  expect(new Set(allOperations.map((operation) => operation.id)).size).toBe(allOperations.length);
});

test('no two operations share method and path, whatever their parameters are called', () => {
  const keys = allOperations.map((operation) => title(operation).replace(/\{\w+\}/g, '{}'));
  expect(new Set(keys).size).toBe(keys.length);
});

test('every call of the interface exists, at its path', () => {
  const paths = new Set(allOperations.map((operation) => title(operation).replace(/\{\w+\}/g, '{}')));
  const promised = `
    GET /auth/google, GET /auth/google/callback, POST /auth/token, POST /auth/refresh, GET /auth/me, POST /auth/logout,
    GET /auth/sessions, DELETE /auth/sessions/{}, POST /organizations, GET /organizations, GET /organizations/current,
    PUT /organizations/current, POST /organizations/current/delete, POST /organizations/{}/recover,
    GET /organizations/current/members, PUT /organizations/current/members/{}, DELETE /organizations/current/members/{},
    POST /organizations/current/invites, GET /organizations/current/invites, DELETE /organizations/current/invites/{},
    POST /organizations/current/invites/{}/resend, POST /invitations/accept, GET /organizations/current/service-account,
    POST /organizations/current/service-account, DELETE /organizations/current/service-account,
    POST /organizations/current/service-account/rotate, GET /organizations/current/subscription,
    PUT /organizations/current/subscription, PUT /organizations/current/encryption-key,
    DELETE /organizations/current/encryption-key, POST /organizations/current/encryption-key/rotate,
    GET /webhooks, GET /webhooks/{}, POST /webhooks, PUT /webhooks/{}, PATCH /webhooks/{}, DELETE /webhooks/{},
    PATCH /webhooks/{}/toggle, POST /webhooks/{}/test, GET /webhooks/{}/deliveries, POST /webhooks/{}/rotate-secret,
    POST /webhooks/{}/recover, POST /webhooks/{}/deliveries/{}/retry, GET /webhooks/{}/deliveries/{}/request,
    POST /backups, GET /backups, POST /backups/import, GET /backups/{}, DELETE /backups/{}, POST /backups/{}/cancel,
    POST /backups/{}/verify, POST /backups/{}/hold, DELETE /backups/{}/hold, GET /backups/{}/collections,
    GET /backups/{}/documents, GET /backups/{}/documents/{}, GET /backups/{}/diff, GET /backups/{}/export,
    GET /backups/{}/events, POST /backups/{}/drill, GET /backups/{}/drills, POST /backups/restore, GET /backups/restore,
    GET /backups/restore/{}, POST /backups/restore/{}/cancel, POST /backups/restore/{}/resume,
    GET /backups/restore/{}/events, GET /projects, POST /projects, GET /projects/available, GET /projects/{},
    PATCH /projects/{}, DELETE /projects/{}, POST /projects/{}/reconnect, GET /projects/{}/collections,
    GET /projects/{}/cost-estimate, POST /projects/{}/pitr/enable, POST /projects/{}/pitr/disable, GET /projects/{}/pitr,
    GET /projects/{}/pitr/history, GET /storage-destinations, POST /storage-destinations, GET /storage-destinations/{},
    PATCH /storage-destinations/{}, DELETE /storage-destinations/{}, POST /storage-destinations/{}/test,
    POST /storage-destinations/{}/rescan, POST /storage-destinations/buckets, GET /storage-destinations/{}/orphans,
    POST /storage-destinations/{}/sweep, POST /storage-destinations/{}/migrate, GET /schedules, POST /schedules,
    GET /schedules/{}, PATCH /schedules/{}, DELETE /schedules/{}, POST /schedules/{}/run, GET /schedules/{}/runs,
    POST /schedules/preview, GET /schedules/{}/retention-preview, POST /backups/restore/{}/undo,
    POST /organizations/current/recovery-kit, GET /organizations/current/events, GET /overview,
    GET /projects/{}/history, POST /projects/{}/retention/unfreeze, GET /projects/{}/pitr/view/collections,
    GET /projects/{}/pitr/view/documents, GET /projects/{}/pitr/view/diff, GET /audit-logs, GET /audit-logs/export, GET /audit-logs/verify, GET /openapi.json`;
  const missing = promised
    .split(',')
    .map((entry) => entry.trim().replace(' ', ' /api/v1'))
    .concat([
      'GET /health',
      'GET /health/live',
      'GET /health/ready',
      'GET /metrics',
      'GET /.well-known/jwks.json',
      'GET /auth/local',
    ])
    .filter((entry) => !paths.has(entry));
  expect(missing).toEqual([]);
});

describe('the table of permissions', () => {
  const access = (id: keyof typeof operations) => operations[id].access;

  test.each([
    ['deleteOrganization', 'owner'],
    ['updateSubscription', 'owner'],
    ['getSubscription', 'owner'],
    ['updateMember', 'admin'],
    ['createInvitation', 'admin'],
    ['listInvitations', 'admin'],
    ['getServiceAccount', 'admin'],
    ['createWebhook', 'admin'],
    ['createStorageDestination', 'admin'],
    ['updateOrganization', 'admin'],
    ['setEncryptionKey', 'admin'],
    ['deleteBackup', 'admin'],
    ['holdBackup', 'admin'],
    ['deleteProject', 'admin'],
    ['listAuditLogs', 'admin'],
    ['createBackup', 'member'],
    ['startRestore', 'member'],
    ['startDrill', 'member'],
    ['createProject', 'member'],
    ['createSchedule', 'member'],
    ['enablePitr', 'member'],
    ['listMembers', 'viewer'],
    ['getBackup', 'viewer'],
  ] as const)('%s needs %s', (id, role) => {
    expect(access(id)).toMatchObject({ kind: 'organization', role });
  });

  test('no key manages members, invitations, service accounts or billing, or deletes the organization', () => {
    const team = allOperations.filter((operation) =>
      /members\/|invites|service-account|subscription|current\/delete/.test(operation.path),
    );
    expect(team.length).toBeGreaterThan(10);
    for (const { id, access } of team) expect(access, id).toMatchObject({ scope: null });
  });

  test('every call that shows the contents of documents requires the right to browse backups', () => {
    const showing = allOperations.filter(
      ({ method, path }) => method === 'GET' && /\/(documents|history|browse|view)(\/|$)|backups.*\/export$/.test(path),
    );
    expect(showing.length).toBeGreaterThan(6);
    for (const { id, access } of showing) expect(access, id).toMatchObject({ scope: 'backups:read' });
  });

  test('a higher role includes the lower ones, a write scope its read scope, and not the other way round', () => {
    expect(roleAtLeast('owner', 'viewer')).toBe(true);
    expect(roleAtLeast('member', 'admin')).toBe(false);
    expect(scopesCover(['backups:write'], 'backups:read')).toBe(true);
    expect(scopesCover(['backups:read'], 'backups:write')).toBe(false);
    expect(scopesCover(['backups:write'], 'projects:read')).toBe(false);
  });

  test('a narrow scope is a part of the write scope and grants nothing else', () => {
    for (const scope of ['backups:create', 'backups:restore', 'backups:delete'] as const) {
      expect(scopesCover(['backups:write'], scope)).toBe(true);
      expect(scopes.filter((other) => scopesCover([scope], other))).toEqual([scope]);
    }
    expect(access('createBackup')).toMatchObject({ scope: 'backups:create' });
    expect(access('startRestore')).toMatchObject({ scope: 'backups:restore' });
    expect(access('deleteBackup')).toMatchObject({ scope: 'backups:delete' });
    expect(access('releaseBackup')).toMatchObject({ scope: 'backups:write' });
  });
});

describe('the address of an operation', () => {
  test('is its path with the parameters filled in, each one segment', () => {
    expect(pathOf('listBackups')).toBe('/api/v1/backups');
    expect(pathOf('getDeliveryRequest', { webhookId: 'whk_1', deliveryId: 'a/b' })).toBe(
      '/api/v1/webhooks/whk_1/deliveries/a%2Fb/request',
    );
    expect(() => pathOf('getBackup', { backupId: '..' })).toThrow('cannot be part of a path');
  });
});

describe('the catalogue of errors', () => {
  test('explains every code, and gives it a status a client can act on', () => {
    for (const code of errorCodes) {
      expect(errorDefinition(code).description.length, code).toBeGreaterThan(20);
      expect(errorDefinition(code).status, code).toBeGreaterThanOrEqual(400);
    }
  });

  test('contains no code that is never returned', () => {
    const answered = new Set(allOperations.flatMap((operation) => errorsOf(operation)));
    // Sent before a call is found, or only in the record of a job.
    const elsewhere = new Set(['METHOD_NOT_ALLOWED', 'GONE', 'HEADERS_TOO_LARGE', ...jobErrorCodes]);
    expect(errorCodes.filter((code) => !answered.has(code) && !elsewhere.has(code))).toEqual([]);
  });

  test('says for every error of a job whether to retry and how to fix it', () => {
    expect(jobErrorCodes.length).toBe(19);
    for (const code of jobErrorCodes) {
      const advice = errorDefinition(code).job?.advice;
      expect(advice, code).toMatch(/^[A-Z].{20,}\.$/);
      // People use the command line and the dashboard, so advice never names an address of the API.
      expect(advice, code).not.toMatch(/https?:|\/api\/|\b(GET|POST|PUT|PATCH|DELETE) \//);
    }
  });
});
