import { type Operation, scopes, servedOperations } from '@holdfast/contract';
import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantTables } from './platform/database/tenant-tables.ts';
import { asOwner } from './testing/people.ts';
import { dialsOut, isFollowed, sampleBodyNaming, sampleQuery } from './testing/sample-input.ts';
import { foundOrganization, type TestOrganization } from './testing/team.ts';
import { createOneOfEverything, createProjectWithBackup, resourcesOf } from './testing/tenant-resources.ts';
import { startTestApp, type TestApp, type TestResponse } from './testing/test-app.ts';

/**
 * Sends one tenant's requests as another tenant: with the victim's organization in the header, and with the victim's
 * ids in path and body.
 */

let app: TestApp;
let firestore: FirestoreSandbox;
let victim: TestOrganization;
let attacker: TestOrganization;
let ids: Record<string, string>;
let apiKey: string;
beforeAll(async () => {
  app = await startTestApp();
  firestore = await startFirestoreSandbox();
  [victim, attacker] = [await foundOrganization(app, 'The Victim'), await foundOrganization(app, 'The Attacker')];
  await createOneOfEverything(app, victim);
  await createProjectWithBackup(app, victim, `${firestore.host}:${firestore.port}`);
  ids = await resourcesOf(app, victim);
  const body = { name: 'all', permissions: scopes };
  const as = { token: attacker.owner.token, organizationId: attacker.id };
  const created = await app.request('POST', '/api/v1/organizations/current/service-account', { ...as, body });
  apiKey = created.body.data.apiKey;
});
afterAll(async () => {
  await app.close();
  await firestore.stop();
});

/** Ends the attacker's own session or key, which would make the rest of the test meaningless. */
const ownEnd = new Set(['logout', 'deleteServiceAccount', 'rotateServiceAccount']);
const requests = servedOperations.filter(
  (operation) => operation.access.kind !== 'public' && !ownEnd.has(operation.id) && !dialsOut(operation),
);

/** Events and deliveries that have not been tried yet. */
const unsent = (organizationId: string) =>
  asOwner(app.databaseUrl, async (client) => {
    const { rows } = await client.query(
      `select (select count(*) from outbox_events where organization_id = $1 and dispatched_at is null)
         + (select count(*) from webhook_deliveries where organization_id = $1 and (attempts = 0 or lease_until is not null)) as n`,
      [organizationId],
    );
    return Number(rows[0].n);
  });

/** Everything the victim has, as text, except the audit rows about refused strangers. */
const everythingOf = (organizationId: string) =>
  asOwner(app.databaseUrl, async (client) => {
    const found: Record<string, string[]> = {};
    const read = async (table: string, where: string) => {
      const { rows } = await client.query(`select t::text as row from ${table} t where ${where} order by 1`, [
        organizationId,
      ]);
      found[table] = rows.map(({ row }: { row: string }) => row);
    };
    for (const table of await tenantTables(client)) {
      // The service itself changes when retention looks next.
      if (table === '"audit_chains"' || table === '"retention_checks"') continue;
      await read(table, `organization_id = $1 ${table === '"audit_logs"' ? "and action <> 'auth.denied'" : ''}`);
    }
    await read('organizations', 'id = $1');
    return found;
  });

function replay(operation: Operation, token: string, organizationId: string): Promise<TestResponse> {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, parameter) => ids[parameter] ?? 'made_up');
  const body = sampleBodyNaming(operation, ids);
  return app.request(operation.method, `${path}${sampleQuery(operation)}`, {
    token,
    organizationId,
    headOnly: isFollowed(operation),
    ...(body === undefined ? {} : { body }),
  });
}

/**
 * What is wrong with an answer to a stranger. It may contain the ids that the attacker sent only in a complaint about
 * them.
 */
function faultOf(operation: Operation, organizationId: string, answer: TestResponse): string | undefined {
  const { code } = answer.body?.error ?? {};
  const isGood = answer.status < 400;
  if (code === 'INTERNAL_ERROR') return 'failed';
  if (
    operation.access.kind === 'organization' &&
    organizationId === victim.id &&
    !['FORBIDDEN', 'NOT_FOUND'].includes(code)
  )
    return 'entered';
  if (operation.path.includes('{') && isGood) return 'reached';
  const told = [
    victim.name,
    victim.owner.email,
    ...(isGood ? Object.values(ids).filter((id) => id !== 'made_up') : []),
  ];
  return told.some((text) => answer.text.includes(text)) ? 'told' : undefined;
}

test('yields nothing and changes nothing', async () => {
  // Waits for what the service itself still does for the victim.
  await expect.poll(() => unsent(victim.id)).toBe(0);
  const before = await everythingOf(victim.id);
  expect(Object.values(before).flat().length).toBeGreaterThan(10);
  const faults: string[] = [];
  for (const token of [attacker.owner.token, apiKey]) {
    for (const operation of requests) {
      for (const organizationId of [victim.id, attacker.id]) {
        const answer = await replay(operation, token, organizationId);
        const fault = faultOf(operation, organizationId, answer);
        if (fault)
          faults.push(`${operation.id} in ${organizationId} ${fault}: ${answer.status} ${answer.text.slice(0, 200)}`);
      }
    }
  }
  expect(faults).toEqual([]);
  expect(await everythingOf(victim.id)).toEqual(before);
});
