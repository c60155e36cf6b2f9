import { createHash } from 'node:crypto';
import { AccessTokens } from '../modules/auth/tokens/access-tokens.ts';
import { SharedSecretKeys, StoredKeyPairs } from '../modules/auth/tokens/signing-keys.ts';
import { connected as asOwner } from './connected.ts';
import type { TestApp } from './test-app.ts';

export { asOwner };

export interface TestPerson {
  id: string;
  email: string;
  token: string;
}

/** A signed-in person created directly in the database, for tests that are not about signing in. */
export async function signUp(
  app: TestApp,
  email: string,
  options: { emailVerified?: boolean } = {},
): Promise<TestPerson> {
  const { ids, clock } = app.platform;
  const id = ids.next('usr');
  const sessionId = ids.next('ses');
  const now = clock.now();
  const later = new Date(now.getTime() + 365 * 86_400_000);
  await asOwner(app.databaseUrl, async (client) => {
    await client.query(
      'insert into users (id, email, email_verified, name, provider_subject, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $6)',
      [
        id,
        email,
        options.emailVerified ?? true,
        email.split('@')[0],
        `test ${createHash('sha256').update(id).digest('hex')}`,
        now,
      ],
    );
    await client.query(
      'insert into sessions (id, user_id, created_at, last_used_at, expires_at) values ($1, $2, $3, $3, $4)',
      [sessionId, id, now, later],
    );
  });
  return { id, email, token: await issueToken(app, id, sessionId, email) };
}

/** An organization with this owner created directly in the database, for tests that are not about creating one. */
export async function foundOrganization(
  app: TestApp,
  owner: TestPerson,
  options: { plan?: string } = {},
): Promise<string> {
  const id = app.platform.ids.next('org');
  const now = app.platform.clock.now();
  await asOwner(app.databaseUrl, async (client) => {
    await client.query(
      'insert into organizations (id, name, slug, plan, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)',
      [id, `Organization ${id}`, id.toLowerCase().replace('_', '-'), options.plan ?? 'enterprise', now],
    );
  });
  await join(app, id, owner, 'owner');
  return id;
}

export async function join(app: TestApp, organizationId: string, person: TestPerson, role: string): Promise<void> {
  const now = app.platform.clock.now();
  await asOwner(app.databaseUrl, (client) =>
    client.query(
      'insert into memberships (organization_id, user_id, role, joined_at, last_active_at, updated_at) values ($1, $2, $3, $4, $4, $4)',
      [organizationId, person.id, role, now],
    ),
  );
}

/** The same person with a new access token, after the old one has expired. */
export async function renew(app: TestApp, person: TestPerson): Promise<TestPerson> {
  const sessionId = await asOwner(app.databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>('select id from sessions where user_id = $1 limit 1', [
      person.id,
    ]);
    return rows[0]?.id ?? '';
  });
  return { ...person, token: await issueToken(app, person.id, sessionId, person.email) };
}

async function issueToken(app: TestApp, userId: string, sessionId: string, email: string): Promise<string> {
  const { ids, clock, config } = app.platform;
  const keys =
    config.JWT_ALGORITHM === 'HS256' ? new SharedSecretKeys(config.JWT_SECRET ?? '') : new StoredKeyPairs(app.platform);
  const tokens = new AccessTokens(keys, clock, config.ACCESS_TOKEN_TTL);
  return tokens.sign({ userId, sessionId, email, name: email, organizations: [] }, ids.next('ses'));
}
