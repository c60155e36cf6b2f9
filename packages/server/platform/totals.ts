import type { Transaction } from './database/database.ts';

/** Sums by name and status of what the triggers have counted. */
export async function readTotals({ client }: Transaction): Promise<(name: string, status?: string) => number> {
  const { rows } = await client.query<{ name: string; status: string; count: number }>(
    'select name, status, sum(count)::float8 as count from totals group by name, status',
  );
  const counts = new Map(rows.map(({ name, status, count }) => [`${name} ${status}`, count]));
  return (name, status = '') => counts.get(`${name} ${status}`) ?? 0;
}
