import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CaptureOptions, type ChangeBatch, recordKind, wholeDatabase } from '../ports/index.ts';
import { type DatabaseUnderTest, documentsIn, type OpenDatabase, text, write } from './database-under-test.ts';

const batchIntervalMs = 20;

export interface CaptureTraits {
  /** Of one that does not, deletes from before it was listened to are known by who knows the names from before alone. */
  readonly tellsOfDeletesBefore?: boolean;
}

/** What every ChangeCapture must keep. */
export function changeCaptureConformance(
  name: string,
  open: OpenDatabase,
  { tellsOfDeletesBefore = true }: CaptureTraits = {},
): void {
  describe(`${name} as a capture`, () => {
    let database: DatabaseUnderTest;
    beforeEach(async () => {
      database = await open();
      await write(database, [
        { path: 'a/1', fields: text('before') },
        { path: 'a/2', fields: text('before') },
        { path: 'a/2/below/3', fields: text('before') },
      ]);
    });
    afterEach(() => database.close());

    /** The path and text of every change until `isEnough`; a delete has no text. */
    async function follow(
      options: Partial<CaptureOptions> & Pick<CaptureOptions, 'from'>,
      isEnough: (seen: readonly string[]) => boolean,
    ): Promise<{ batches: ChangeBatch[]; seen: string[] }> {
      const batches: ChangeBatch[] = [];
      const seen: string[] = [];
      for await (const batch of database.capture.capture({ scope: wholeDatabase, batchIntervalMs, ...options })) {
        batches.push(batch);
        const records = batch.records === null ? [] : documentsIn(batch.records, database.source.database);
        for (const { path, kind, fields } of records) {
          const value = fields.text;
          const told = value !== undefined && 'stringValue' in value ? value.stringValue : '';
          seen.push(kind === recordKind.delete ? `${path} gone` : `${path} ${told}`);
        }
        if (isEnough(seen)) break;
      }
      return { batches, seen };
    }

    test('tells what was put, changed and deleted after the given instant, and nothing from before', async () => {
      const from = await database.source.snapshotTime();
      const listens = Promise.withResolvers<void>();
      const following = follow({ from }, (seen) => {
        listens.resolve();
        return seen.length >= 4;
      });
      if (!tellsOfDeletesBefore) await listens.promise;
      await write(database, [{ path: 'a/1', fields: text('changed') }]);
      await write(database, [{ path: 'b/1', fields: text('new') }]);
      await write(database, [{ path: 'a/2/below/3' }]);
      await write(database, [{ path: 'a/9/below/9', fields: text('under a missing parent') }]);
      const { seen } = await following;
      expect(seen.toSorted()).toEqual([
        'a/1 changed',
        'a/2/below/3 gone',
        'a/9/below/9 under a missing parent',
        'b/1 new',
      ]);
    });

    test('batches join without a gap, from the given instant on', async () => {
      const from = await database.source.snapshotTime();
      const following = follow({ from }, (seen) => seen.includes('a/1 third'));
      for (const value of ['first', 'second', 'third']) await write(database, [{ path: 'a/1', fields: text(value) }]);
      const { batches } = await following;
      let covered = from;
      for (const { coveredFrom, coveredThrough, gap } of batches) {
        expect(coveredFrom).toBe(covered);
        expect(coveredThrough >= coveredFrom).toBe(true);
        expect(gap?.isBrief ?? true).toBe(true);
        covered = coveredThrough;
      }
    });

    test('time that passes without a change is covered too', async () => {
      const from = await database.source.snapshotTime();
      const ends: string[] = [];
      let later: string | undefined;
      for await (const batch of database.capture.capture({ scope: wholeDatabase, batchIntervalMs, from })) {
        ends.push(batch.coveredThrough);
        later ??= await database.source.snapshotTime();
        expect(batch.records).toBeNull();
        expect(batch.gap?.isBrief ?? true).toBe(true);
        if (batch.coveredThrough > later) break;
      }
      expect(ends).toEqual(ends.toSorted());
    });

    test('begun late, it still tells what happened since', async () => {
      const from = await database.source.snapshotTime();
      await write(database, [
        { path: 'a/1', fields: text('meanwhile') },
        { path: 'c/1', fields: text('meanwhile') },
      ]);
      const { seen } = await follow({ from }, (all) => all.length >= 2);
      expect(seen.toSorted()).toEqual(['a/1 meanwhile', 'c/1 meanwhile']);
    });

    test('keeps to its scope', async () => {
      const from = await database.source.snapshotTime();
      const scope = { ...wholeDatabase, collections: ['a'], excludeCollections: ['a/2/below'] };
      const following = follow({ from, scope }, (seen) => seen.some((told) => told === 'a/1 last'));
      await write(database, [{ path: 'b/1', fields: text('outside') }]);
      await write(database, [{ path: 'a/2/below/3', fields: text('excluded') }]);
      await write(database, [{ path: 'a/2', fields: text('inside') }]);
      await write(database, [{ path: 'a/1', fields: text('last') }]);
      expect((await following).seen.toSorted()).toEqual(['a/1 last', 'a/2 inside']);
    });

    test('aborted, it ends', async () => {
      const from = await database.source.snapshotTime();
      const stopping = new AbortController();
      const ended = follow({ from, signal: stopping.signal }, () => false).catch((error: unknown) => error);
      setTimeout(() => stopping.abort(), 5 * batchIntervalMs);
      expect(await ended).toMatchObject({ code: 'CANCELLED' });
    });
  });
}
