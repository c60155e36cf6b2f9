import { isDeepStrictEqual } from 'node:util';

/**
 * The fields of `wanted` that are given and differ from the row. Without any there is no change, and nothing is audited
 * or sent.
 */
export function differences<Row extends object>(
  row: Row,
  wanted: { [Field in keyof Row]?: Row[Field] | undefined },
): Partial<Row> {
  const entries = Object.entries(wanted) as [keyof Row, unknown][];
  return Object.fromEntries(
    entries.filter(([field, value]) => value !== undefined && !isDeepStrictEqual(value, row[field])),
  ) as Partial<Row>;
}
