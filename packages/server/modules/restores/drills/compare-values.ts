import { createHash } from 'node:crypto';
import type { DrillReport } from '@holdfast/contract';
import { canonicalFields } from '@holdfast/engine/same-content';

/** Some documents in path order, packed for another thread. */
export interface PieceToCompare {
  readonly paths: readonly string[];
  /** The documents one after another: for each path what was expected, then what was found. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Two lengths per path. `isAbsent`: no document on that side; `isSame`: found with exactly the expected bytes. */
  readonly lengths: Int32Array<ArrayBuffer>;
}

export const isAbsent = -1;
export const isSame = -2;

export type Digests = Pick<DrillReport, 'sha256Expected' | 'sha256Restored'>;

/**
 * Compares values and not bytes: a database may reorder the fields of a map. Both sides are hashed in a form in which
 * equal values are equal.
 */
export class ComparedValues {
  readonly #expected = createHash('sha256');
  readonly #restored = createHash('sha256');

  /** The positions of documents that exist on both sides and differ. */
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
