import type { Role } from '@holdfast/contract';
import { asOwner, signUp, type TestPerson } from './people.ts';
import type { TestApp } from './test-app.ts';

export interface TestOrganization {
  id: string;
  name: string;
  slug: string;
  owner: TestPerson;
}

let serial = 0;

/** An organization created through the public API by a new person. */
export async function foundOrganization(app: TestApp, name = `Org ${++serial}`): Promise<TestOrganization> {
  const owner = await signUp(app, `owner-${++serial}-${Date.now()}@example.com`);
  const response = await app.request('POST', '/api/v1/organizations', { token: owner.token, body: { name } });
  if (response.status !== 201) throw new Error(`the organization was not created: ${response.text}`);
  return { id: response.body.data.id, slug: response.body.data.slug, name, owner };
}

/** A new person with a role in the organization, for tests that are not about joining. */
export async function addMember(
  app: TestApp,
  organizationId: string,
  role: Exclude<Role, 'owner'>,
): Promise<TestPerson> {
  const person = await signUp(app, `${role}-${++serial}-${Date.now()}@example.com`);
  const now = app.platform.clock.now();
  await asOwner(app.databaseUrl, (client) =>
    client.query(
      'insert into memberships (organization_id, user_id, role, joined_at, last_active_at, updated_at) values ($1, $2, $3, $4, $4, $4)',
      [organizationId, person.id, role, now],
    ),
  );
  return person;
}
