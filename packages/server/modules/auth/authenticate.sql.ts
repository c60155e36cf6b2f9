/**
 * The two look-ups behind every authenticated call, one round trip each. They run with the rights of the tables' owner,
 * because a tenant transaction can only begin once the caller is known. They return one row about ids that the caller
 * already has.
 */
export const authenticationFunctions = [
  // A function whose columns changed cannot be replaced, only dropped.
  'drop function if exists holdfast_identify_person(text, text, text, timestamptz)',
  `create or replace function holdfast_identify_person(given_session text, given_user text, given_organization text, given_now timestamptz)
   returns table (email text, email_verified boolean, name text, organization_id text, organization_name text, plan text, role text, active_at timestamptz, used_at timestamptz)
   language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
     select u.email, u.email_verified, u.name, o.id, o.name, o.plan, m.role, m.last_active_at, s.last_used_at
       from sessions s
       join users u on u.id = s.user_id
       left join organizations o on o.id = given_organization and o.deleted_at is null
       left join memberships m on m.organization_id = o.id and m.user_id = u.id
      where s.id = given_session and s.user_id = given_user and s.revoked_at is null and s.expires_at > given_now
   $$`,
  // The previous release calls this function and recreates it when it starts, so its columns stay as they are.
  identifyKey('holdfast_identify_key'),
  identifyKey('holdfast_identify_owned_key', {
    returned: ', owner_id text',
    column: ', m.user_id',
    join: `left join memberships m on m.organization_id = o.id and m.role = 'owner'`,
  }),
  'revoke all on function holdfast_identify_person(text, text, text, timestamptz) from public',
  'revoke all on function holdfast_identify_key(text, timestamptz) from public',
  'revoke all on function holdfast_identify_owned_key(text, timestamptz) from public',
];

function identifyKey(name: string, { returned, column, join } = { returned: '', column: '', join: '' }): string {
  return `create or replace function ${name}(given_hash text, given_now timestamptz)
   returns table (id text, email text, permissions jsonb, organization_id text, organization_name text, plan text, deleted boolean, used_at timestamptz${returned})
   language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
     select a.id, a.email, a.permissions, o.id, o.name, o.plan, o.deleted_at is not null, a.last_used_at${column}
       from service_accounts a
       join organizations o on o.id = a.organization_id ${join}
      where a.key_hash = given_hash or (a.previous_key_hash = given_hash and a.previous_key_valid_until > given_now)
   $$`;
}
