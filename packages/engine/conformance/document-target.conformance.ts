import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonFields } from '../format/document-json.ts';
import type { ApplyOptions, ApplyResult } from '../ports/index.ts';
import {
  type DatabaseUnderTest,
  type GivenRecord,
  type OpenDatabase,
  pathsOf,
  recordsOf,
  scan,
  text,
  write,
} from './database-under-test.ts';
import { everyKind } from './document-source.conformance.ts';

const origin = 'projects/origin/databases/(default)';
const nested = (fields: JsonFields): JsonFields => ({ map: { mapValue: { fields } } });

/** What every DocumentTarget must keep. */
export function documentTargetConformance(name: string, open: OpenDatabase): void {
  describe(`${name} as a target`, () => {
    let database: DatabaseUnderTest;
    beforeEach(async () => {
      database = await open();
    });
    afterEach(() => database.close());

    const apply = (given: readonly GivenRecord[], options: Partial<ApplyOptions> = {}): Promise<ApplyResult> =>
      database.target.apply(recordsOf(origin, given), { mode: 'overwrite', rampUp: false, ...options });
    const contents = async () => new Map((await scan(database)).map(({ path, fields }) => [path, fields]));

    test('takes records of another database under its own name', async () => {
      expect(await apply([{ path: 'a/1', fields: text('one') }])).toMatchObject({ written: 1, failed: 0 });
      const [document] = await scan(database);
      expect(document).toMatchObject({
        name: `${database.target.database}/documents/a/1`,
        fields: text('one'),
      });
    });

    test('overwrite replaces the whole document', async () => {
      await write(database, [{ path: 'a/1', fields: { gone: { nullValue: null }, ...text('old') } }]);
      await apply([{ path: 'a/1', fields: text('new') }]);
      expect(await contents()).toEqual(new Map([['a/1', text('new')]]));
    });

    test('skip_existing writes only where nothing is', async () => {
      await write(database, [{ path: 'a/1', fields: text('mine') }]);
      const given = ['a/1', 'a/2'].map((path) => ({ path, fields: text('restored') }));
      expect(await apply(given, { mode: 'skip_existing' })).toMatchObject({ written: 1, skipped: 1, failed: 0 });
      expect(await contents()).toEqual(
        new Map([
          ['a/1', text('mine')],
          ['a/2', text('restored')],
        ]),
      );
    });

    test('merge merges maps deeply and replaces the rest', async () => {
      const list = (...values: string[]) => ({
        arrayValue: { values: values.map((stringValue) => ({ stringValue })) },
      });
      const there = { keep: { booleanValue: true }, list: list('a', 'b'), ...nested({ x: { integerValue: '1' } }) };
      await write(database, [{ path: 'a/1', fields: there }]);
      const coming = { list: list('c'), ...nested({ y: { integerValue: '2' } }) };
      const given = ['a/1', 'a/2'].map((path) => ({ path, fields: coming }));
      expect(await apply(given, { mode: 'merge' })).toMatchObject({ written: 2, failed: 0 });
      expect(await contents()).toEqual(
        new Map<string, JsonFields>([
          [
            'a/1',
            {
              keep: { booleanValue: true },
              list: list('c'),
              ...nested({ x: { integerValue: '1' }, y: { integerValue: '2' } }),
            },
          ],
          ['a/2', coming],
        ]),
      );
    });

    test('deletes delete, also what is not there', async () => {
      await write(database, [{ path: 'a/1', fields: text('one') }]);
      expect(await apply([{ path: 'a/1' }, { path: 'a/2' }])).toMatchObject({ failed: 0 });
      expect(await contents()).toEqual(new Map());
    });

    test('the same records twice have no further effect', async () => {
      const given = [{ path: 'a/1', fields: text('one') }, { path: 'b/2' }];
      await apply(given);
      await apply(given);
      expect(await contents()).toEqual(new Map([['a/1', text('one')]]));
    });

    test('references follow the documents when asked, and else stay', async () => {
      const reference = (to: string): JsonFields => ({ at: { referenceValue: `${to}/documents/a/1` } });
      await apply([{ path: 'a/1', fields: reference(origin) }], { rewriteReferencesFrom: origin });
      expect((await contents()).get('a/1')).toEqual(reference(database.target.database));
    });

    test('values of every kind arrive as they were', async () => {
      const fields = everyKind(database.target.database);
      expect(await apply([{ path: 'kinds/all', fields }])).toMatchObject({ written: 1, failed: 0, errors: [] });
      expect((await contents()).get('kinds/all')).toEqual(fields);
    });

    test('tells how far everything is settled, up to the last record', async () => {
      const given = Array.from({ length: 1200 }, (_, index) => ({
        path: `many/${String(index).padStart(5, '0')}`,
        fields: text(String(index)),
      }));
      const settled: string[] = [];
      const result = await apply(given, { onProgress: ({ settledThrough }) => void settled.push(settledThrough) });
      expect(result).toMatchObject({ written: 1200, failed: 0 });
      expect(settled).toEqual(settled.toSorted());
      expect(settled.at(-1)).toBe('many/01199');
      expect(pathsOf(await scan(database))).toEqual(pathsOf(given));
    });

    test('work that is aborted ends with CANCELLED and writes no more', async () => {
      const given = [{ path: 'a/1', fields: text('one') }];
      await expect(apply(given, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' });
      expect(await contents()).toEqual(new Map());
    });
  });
}
