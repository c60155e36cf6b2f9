import { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { CutRows } from './database/pages.ts';
import { invalid } from './problem.ts';

/**
 * Cursors are opaque, signed, and bound to the list and its filters: a cursor of another list, with other filters or
 * another signature is refused.
 */
export class Cursors {
  readonly #key: KeyObject;

  constructor(key: Buffer) {
    this.#key = createSecretKey(key);
  }

  write(list: string, filters: unknown, position: string): string {
    const body = Buffer.from(position, 'utf8');
    return Buffer.concat([this.#sign(list, filters, body), body]).toString('base64url');
  }

  read(list: string, filters: unknown, cursor: string | undefined): string | undefined {
    if (cursor === undefined) return undefined;
    const bytes = Buffer.from(cursor, 'base64url');
    const body = bytes.subarray(signatureBytes);
    if (
      bytes.length <= signatureBytes ||
      !timingSafeEqual(bytes.subarray(0, signatureBytes), this.#sign(list, filters, body))
    ) {
      throw invalid('cursor', 'is not valid for this list and these filters');
    }
    return body.toString('utf8');
  }

  /**
   * One page of a list: reads the cursor, queries one row more than is shown, and writes the cursor of the next page.
   * The list's name and its filters are bound into the cursor.
   */
  async page<Row extends { id: string }>(
    { list, filters, limit, cursor }: PageQuery,
    read: (limit: number, before: string | undefined) => Promise<readonly Row[] & CutRows>,
    placeOf: (row: Row) => string = ({ id }) => id,
  ): Promise<{ rows: Row[]; nextCursor: string | null }> {
    const rows = await read(limit + 1, this.read(list, filters, cursor));
    return pageOf(rows, limit, (row) => this.write(list, filters, placeOf(row)));
  }

  #sign(list: string, filters: unknown, body: Buffer): Buffer {
    const bound = createHash('sha256')
      .update(JSON.stringify([list, filters]))
      .digest();
    return createHmac('sha256', this.#key).update(bound).update(body).digest().subarray(0, signatureBytes);
  }
}

const signatureBytes = 16;

export interface PageQuery {
  list: string;
  filters: unknown;
  limit: number;
  cursor?: string | undefined;
}

/** The filters of a list in the form of its store, with `from` and `to` as dates. */
export function withInstants<Query extends { from?: string | undefined; to?: string | undefined }>({
  from,
  to,
  ...rest
}: Query) {
  return {
    ...rest,
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
  };
}

/** One page of rows. The rows were read with one more than the limit, or were cut where the next one would not fit. */
export function pageOf<Row>(
  rows: readonly Row[] & CutRows,
  limit: number,
  cursorOf: (row: Row) => string,
): { rows: Row[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const isMore = rows.length > limit || rows.isCut === true;
  return { rows: shown, nextCursor: isMore && last ? cursorOf(last) : null };
}
