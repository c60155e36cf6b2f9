import {
  type ErrorCode,
  errorDefinition,
  errorsOf,
  notFoundByParameter,
  type Operation,
  type Role,
  roleAtLeast,
  roles,
  type Scope,
  scopes,
  scopesCover,
  servedOperations,
} from '@holdfast/contract';
import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AccessTokens } from './modules/auth/tokens/access-tokens.ts';
import { createApiKey, hashApiKey } from './modules/auth/tokens/api-key.ts';
import { StoredKeyPairs } from './modules/auth/tokens/signing-keys.ts';
import { asOwner, signUp } from './testing/people.ts';
import { dialsOut, isFollowed, sampleBody, sampleQuery } from './testing/sample-input.ts';
import { addMember, foundOrganization, type TestOrganization } from './testing/team.ts';
import { createOneOfEverything, createProjectWithBackup, resourcesOf } from './testing/tenant-resources.ts';
import { startTestApp, type TestApp, type TestResponse } from './testing/test-app.ts';

/**
 * Who may call what: every caller × every operation × own and foreign organization. The expected results follow only
 * from the contract's access, so a new operation is tested without further work.
 */

interface Caller {
  label: string;
  token: string | undefined;
  /** The caller's organization; an outsider uses the one that everybody is tested with. */
  home: string;
  kind: 'anonymous' | 'expired' | 'outsider' | 'key' | 'member';
  role?: Role;
  granted?: readonly Scope[];
}

interface Expected {
  code: ErrorCode;
  details?: Record<string, unknown> | undefined;
}

type Target = 'own' | 'foreign' | 'unknown' | 'none';

/** Ends the caller's own session, so it comes last. */
const endsSession = new Set(['logout']);
const cellsAtOnce = 12;

let app: TestApp;
let firestore: FirestoreSandbox;
let home: TestOrganization;
let foreign: TestOrganization;
let foreignIds: Record<string, string>;
let callers: Caller[];
let served: Operation[];
let unserved: Operation[];

beforeAll(async () => {
  app = await startTestApp();
  [home, foreign] = [await foundOrganization(app), await foundOrganization(app)];
  await createOneOfEverything(app, foreign);
  firestore = await startFirestoreSandbox();
  await createProjectWithBackup(app, foreign, `${firestore.host}:${firestore.port}`);
  foreignIds = await resourcesOf(app, foreign);
  callers = [...(await people()), ...(await keys())];
  const probes = await inBatches(servedOperations, (operation) => isServed(operation));
  served = servedOperations.filter((_, index) => probes[index]);
  unserved = servedOperations.filter((_, index) => !probes[index]);
});
afterAll(async () => {
  await app.close();
  await firestore.stop();
});

async function people(): Promise<Caller[]> {
  const members: Caller[] = [{ label: 'owner', kind: 'member', role: 'owner', token: home.owner.token, home: home.id }];
  for (const role of roles) {
    if (role === 'owner') continue;
    const { token } = await addMember(app, home.id, role);
    members.push({ label: role, kind: 'member', role, token, home: home.id });
  }
  const outsider = await signUp(app, 'outsider@example.com');
  return [
    ...members,
    { label: 'outsider', kind: 'outsider', token: outsider.token, home: home.id },
    { label: 'anonymous', kind: 'anonymous', token: undefined, home: home.id },
    { label: 'expired', kind: 'expired', token: await expiredToken(), home: home.id },
  ];
}

async function expiredToken(): Promise<string> {
  const { database, keyring, clock, ids } = app.platform;
  const { rows } = await asOwner(app.databaseUrl, (client) =>
    client.query('select id from sessions where user_id = $1', [home.owner.id]),
  );
  const keyPairs = new StoredKeyPairs({ database, keyring, clock, ids });
  const earlier = { now: () => new Date(clock.now().getTime() - 3_600_000) };
  const { id: userId, email } = home.owner;
  const claims = { userId, sessionId: rows[0].id as string, email, name: '', organizations: [home.id] };
  return new AccessTokens(keyPairs, earlier, 60).sign(claims, 'expired');
}

/**
 * An organization has one key, so each scope gets its own organization. The key without any scope is one that the API
 * would not make.
 */
async function keys(): Promise<Caller[]> {
  const wanted: [string, Scope[]][] = [['no scope', []], ...scopes.map((scope): [string, Scope[]] => [scope, [scope]])];
  const made: Caller[] = [];
  for (const [label, granted] of wanted) {
    const organization = await foundOrganization(app);
    const token = createApiKey();
    await asOwner(app.databaseUrl, (client) =>
      client.query(
        `insert into service_accounts (id, organization_id, name, email, permissions, key_hash, created_at, updated_at)
         values ($1, $2, 'key', 'key@example.com', $3, $4, now(), now())`,
        [app.platform.ids.next('sa'), organization.id, JSON.stringify(granted), hashApiKey(token)],
      ),
    );
    made.push({ label: `key with ${label}`, kind: 'key', granted, token, home: organization.id });
  }
  return made;
}

/** Without a credential a guarded call answers 401; an unknown path answers 404. */
async function isServed(operation: Operation): Promise<boolean> {
  const answer = await app.request(
    operation.method,
    pathOf(operation, () => 'made_up'),
    {},
  );
  return !['NOT_FOUND', 'METHOD_NOT_ALLOWED'].includes(answer.body?.error?.code);
}

function pathOf(operation: Operation, idOf: (parameter: string) => string): string {
  return operation.path.replace(/\{(\w+)\}/g, (_, parameter) => idOf(parameter));
}

const organizationHeader = (caller: Caller, target: Target) =>
  ({ own: caller.home, foreign: foreign.id, unknown: 'org_UNKNOWN', none: undefined })[target];

function call(operation: Operation, caller: Caller, target: Target, idOf: (parameter: string) => string) {
  const organizationId = organizationHeader(caller, target);
  const body = dialsOut(operation) ? undefined : sampleBody(operation);
  return app.request(operation.method, `${pathOf(operation, idOf)}${sampleQuery(operation)}`, {
    ...(caller.token ? { token: caller.token } : {}),
    ...(organizationId ? { organizationId } : {}),
    ...(body === undefined ? {} : { body }),
    headOnly: isFollowed(operation),
  });
}

/** The refusal that the contract requires, or undefined when the call is allowed. */
function expectedRefusal(operation: Operation, caller: Caller, target: Target): Expected | undefined {
  const { access } = operation;
  if (access.kind === 'public') return undefined;
  if (caller.kind === 'anonymous' || caller.kind === 'expired') return { code: 'UNAUTHORIZED' };
  if (access.kind === 'person') return caller.kind === 'key' ? { code: 'FORBIDDEN' } : undefined;
  if (caller.kind === 'key') {
    if (target === 'foreign' || access.scope === null) return { code: 'FORBIDDEN' };
    if (scopesCover(caller.granted ?? [], access.scope)) return undefined;
    return { code: 'FORBIDDEN', details: { requiredScope: access.scope } };
  }
  if (target === 'none') return { code: 'VALIDATION_ERROR' };
  if (target === 'unknown') return { code: 'ORGANIZATION_NOT_FOUND' };
  if (caller.role === undefined || target === 'foreign') return { code: 'FORBIDDEN' };
  if (roleAtLeast(caller.role, access.role)) return undefined;
  return { code: 'PERMISSION_DENIED', details: { requiredRole: access.role, currentRole: caller.role } };
}

/** What is wrong with an answer, in words; undefined when it is as expected. */
function fault(operation: Operation, expected: Expected | undefined, answer: TestResponse): string | undefined {
  const got = `${answer.status} ${answer.text.slice(0, 200)}`;
  if (!expected) {
    const mayRefuse = operation.access.kind === 'public' && operation.errors.includes('UNAUTHORIZED');
    const refused = answer.status === 403 || (answer.status === 401 && !mayRefuse);
    return refused || isUndeclared(operation, answer) ? `should be let through, got ${got}` : undefined;
  }
  const { code, details } = answer.body?.error ?? {};
  const isRight = answer.status === errorDefinition(expected.code).status && code === expected.code;
  const hasDetails =
    expected.code === 'VALIDATION_ERROR' || JSON.stringify(details) === JSON.stringify(expected.details);
  return isRight && hasDetails ? undefined : `should be ${JSON.stringify(expected)}, got ${got}`;
}

/** An error that the operation does not declare, or an unexpected one. */
function isUndeclared(operation: Operation, answer: TestResponse): boolean {
  if (answer.status < 400 || operation.success.kind === 'bare') return false;
  const code = answer.body?.error?.code;
  return code === 'INTERNAL_ERROR' || !errorsOf(operation).includes(code);
}

async function inBatches<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += cellsAtOnce)
    results.push(...(await Promise.all(items.slice(start, start + cellsAtOnce).map(work))));
  return results;
}

/** All faults of one caller, so that a gap is shown with everything around it. */
async function faultsOf(caller: Caller, targets: readonly Target[]): Promise<string[]> {
  const ordered = [...served].sort((a, b) => Number(endsSession.has(a.id)) - Number(endsSession.has(b.id)));
  const cells = ordered.flatMap((operation) =>
    (operation.access.kind === 'organization' ? targets : targets.slice(0, 1)).map((target) => ({ operation, target })),
  );
  const faults = await inBatches(cells, async ({ operation, target }) => {
    const answer = await call(operation, caller, target, (parameter) => `${parameter.toLowerCase()}_made_up`);
    const found = fault(operation, expectedRefusal(operation, caller, target), answer);
    return found && `${operation.id} × ${caller.label} × ${target}: ${found}`;
  });
  return faults.filter((found) => found !== undefined);
}

describe('the matrix of callers, operations and organizations', () => {
  test('every operation of the contract is served', () => {
    expect(unserved.map((operation) => operation.id)).toEqual([]);
    expect(served.length).toBeGreaterThan(60);
  });

  const labels = [
    ...['owner', 'admin', 'member', 'viewer', 'outsider', 'anonymous', 'expired'],
    ...['no scope', ...scopes].map((scope) => `key with ${scope}`),
  ];
  test.each(labels.slice(1))('%s may do what the contract says and nothing else', async (label) => {
    const caller = callers.find((candidate) => candidate.label === label) as Caller;
    expect(await faultsOf(caller, ['own', 'foreign'])).toEqual([]);
  });

  test('an id of another organization is not found, never forbidden and never served', async () => {
    const owner = callers[0] as Caller;
    const withIds = served.filter((operation) => operation.path.includes('{'));
    const faults = await inBatches(withIds, async (operation) => {
      const answer = await call(operation, owner, 'own', (parameter) => foreignIds[parameter] ?? 'made_up');
      const parameter = /\{(\w+)\}/.exec(operation.path)?.[1] ?? '';
      const expected = { code: notFoundByParameter[parameter] as ErrorCode };
      const found = fault(operation, expected, answer);
      return found && `${operation.id}: ${found}`;
    });
    expect(faults.filter((found) => found !== undefined)).toEqual([]);
    expect(Object.values(foreignIds).filter((id) => id !== 'made_up').length).toBeGreaterThanOrEqual(8);
  });

  test('the owner, last, because the owner may sign out', async () => {
    expect(await faultsOf(callers[0] as Caller, ['own', 'foreign', 'unknown', 'none'])).toEqual([]);
  });
});
