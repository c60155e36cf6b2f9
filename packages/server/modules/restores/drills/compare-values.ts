import { createHash } from 'node:crypto';
import type { DrillReport } from '@holdfast/contract';
import { canonicalFields } from '@holdfast/engine/same-content';

/** Some documents in the order of their paths, packed for the way to another thread. */
export interface PieceToCompare {
  readonly paths: readonly string[];
  /** The documents one behind the other: what was expected, then what was found. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Two for each path. `isAbsent`: there is none on that side; `isSame`: found with the very bytes that were expected. */
  readonly lengths: Int32Array<ArrayBuffer>;
}

export const isAbsent = -1;
export const isSame = -2;

export type Digests = Pick<DrillReport, 'sha256Expected' | 'sha256Restored'>;

/**
 * Values are compared, not bytes: a database may order the fields of a map anew. Both sides are hashed in a form in which
 * equal values are equal.
 */
export class ComparedValues {
  readonly #expected = createHash('sha256');
  readonly #restored = createHash('sha256');

  /** The positions of those that are there on both sides and differ. */
  compare({ paths, bytes, lengths }: PieceToCompare): number[] {
    const different: number[] = [];
    let offset = 0;
    const take = (length: number) => {
      offset += length;
      return canonicalFields(bytes.subarray(offset - length, offset));
    };
    for (const [index, path] of paths.entries()) {
      const [expectedLength, foundLength] = [lengths[2 * index] as number, lengths[2 * index + 1] as number];
      const expected = expectedLength === isAbsent ? undefined : take(expectedLength);
      const found = foundLength === isAbsent ? undefined : foundLength === isSame ? expected : take(foundLength);
      if (expected !== undefined) this.#expected.update(lineOf(path, expected));
      if (found !== undefined) this.#restored.update(lineOf(path, found));
      if (expected !== undefined && found !== undefined && expected !== found) different.push(index);
    }
    return different;
  }

  digests(): Digests {
    return { sha256Expected: this.#expected.digest('hex'), sha256Restored: this.#restored.digest('hex') };
  }
}

function lineOf(path: string, values: string): string {
  return `${path}\0${values}\n`;
}
