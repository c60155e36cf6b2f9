/** Rows whose endings are counted: each time `status` becomes one of these. */
export interface CountedEndings {
  readonly table: string;
  readonly name: string;
  readonly statuses: readonly string[];
}

/** A number in a row whose growth is added up. */
export interface CountedGrowth {
  readonly table: string;
  readonly name: string;
  readonly column: string;
}

/** More slots than connections, so that concurrent counters neither wait nor deadlock. */
const slots = 1024;

const add = `
  create or replace function holdfast_add_to_total(total text, ending text, amount bigint) returns void language sql
    set search_path = pg_catalog, public, pg_temp as $$
    insert into totals as t (name, status, slot, count) values (total, ending, pg_backend_pid() % ${slots}, amount)
    on conflict (name, status, slot) do update set count = t.count + excluded.count
  $$`;
const countEnding = `
  create or replace function holdfast_count_ending() returns trigger language plpgsql security definer
    set search_path = pg_catalog, public, pg_temp as $$
  begin
    perform public.holdfast_add_to_total(tg_argv[0], new.status, 1);
    return null;
  end $$`;
const countGrowth = `
  create or replace function holdfast_count_growth() returns trigger language plpgsql security definer
    set search_path = pg_catalog, public, pg_temp as $$
  begin
    perform public.holdfast_add_to_total(tg_argv[0], '',
      (to_jsonb(new)->>tg_argv[1])::bigint - (to_jsonb(old)->>tg_argv[1])::bigint);
    return null;
  end $$`;
const closed = `revoke all on function holdfast_add_to_total(text, text, bigint) from public`;

/** A trigger instead of a call in each store, so that no ending is missed. */
export function totalTriggers(endings: readonly CountedEndings[], growths: readonly CountedGrowth[]): string[] {
  return [
    add,
    closed,
    countEnding,
    countGrowth,
    ...endings.map(
      ({ table, name, statuses }) => `create or replace trigger count_ending after update of status on ${table}
        for each row when (old.status is distinct from new.status and new.status in (${statuses.map((status) => `'${status}'`).join(', ')}))
        execute function holdfast_count_ending('${name}')`,
    ),
    ...growths.map(
      ({ table, name, column }) => `create or replace trigger count_growth after update of ${column} on ${table}
        for each row when (new.${column} > old.${column}) execute function holdfast_count_growth('${name}', '${column}')`,
    ),
  ];
}
