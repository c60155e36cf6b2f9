import { printJson, printLine, printTable } from '../output.ts';
import type { ListOptions } from './options.ts';

export interface Some<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}

/** The first `limit` entries; pages are fetched as needed. */
export async function takeSome<T>(entries: AsyncIterable<T>, limit: number): Promise<Some<T>> {
  const items: T[] = [];
  for await (const entry of entries) {
    if (items.length === limit) return { items, hasMore: true };
    items.push(entry);
  }
  return { items, hasMore: false };
}

/** One more than the limit, so that one page shows whether there is more. */
export function pageSize(limit: number): number {
  return Math.min(limit + 1, 200);
}

export async function printList<T>(
  noun: string,
  entries: AsyncIterable<T>,
  options: ListOptions,
  table: { readonly head: readonly string[]; readonly row: (entry: T) => readonly string[] },
): Promise<void> {
  const { items, hasMore } = await takeSome(entries, options.limit);
  if (options.json) {
    printJson({ [noun]: items, hasMore });
    return;
  }
  if (items.length === 0) return printLine('There are none.');
  printTable([table.head, ...items.map(table.row)]);
  if (hasMore) printLine(`… more with a larger --limit`);
}

/** Names and values in two columns; absent values are left out. */
export function printRecord(fields: Readonly<Record<string, string | number | boolean | null | undefined>>): void {
  printTable(
    Object.entries(fields).flatMap(([name, value]) =>
      value === null || value === undefined || value === '' ? [] : [[name, String(value)]],
    ),
  );
}
