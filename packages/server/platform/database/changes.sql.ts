/** Sent to the followers of the organization as soon as the change is committed. */
export const changesChannel = 'holdfast_changes';

/** Tables whose changes are announced. Some only announce what people see: a new last activity is no news. */
export interface AnnouncedTable {
  readonly table: string;
  readonly kind: string;
  /** Columns whose updates are announced; absent: every update. */
  readonly columns?: readonly string[];
}

const announce = `
  create or replace function holdfast_announce_change() returns trigger language plpgsql
    set search_path = pg_catalog, public, pg_temp as $$
  declare
    changed jsonb := to_jsonb(coalesce(new, old));
  begin
    perform pg_notify('${changesChannel}', json_build_object(
      'organizationId', coalesce(changed->>'organization_id', changed->>'id'),
      'kind', tg_argv[0],
      'id', coalesce(changed->>'id', changed->>'user_id', changed->>'project_id'),
      'change', case tg_op when 'INSERT' then 'created' when 'DELETE' then 'deleted' else 'updated' end,
      'projectId', case tg_argv[0] when 'project' then changed->>'id' else changed->>'project_id' end)::text);
    return null;
  end $$`;

/** A trigger instead of a call in each store, so that no change can be forgotten. */
export function changeTriggers(tables: readonly AnnouncedTable[]): string[] {
  const triggers = tables.map(({ table, kind, columns }) => {
    const update = columns ? `update of ${columns.join(', ')}` : 'update';
    return `create or replace trigger announce_change after insert or ${update} or delete on ${table}
      for each row execute function holdfast_announce_change('${kind}')`;
  });
  return [announce, ...triggers];
}
