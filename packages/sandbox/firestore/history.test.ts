// @module-tag long
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { startFirestoreSandbox } from './server.ts';
import { database, documentBytes, fields, ManualClock, name, root, timeOf } from './testing/fixtures.ts';
import { RawClient } from './testing/raw-client.ts';
import { findField, splitDocument } from './values/fields.ts';
import { timestampFrom } from './values/timestamp.ts';
import { decodeValue } from './values/value.ts';

type Step =
  | { kind: 'set' | 'create' | 'merge'; id: number; content: number }
  | { kind: 'delete'; id: number }
  | { kind: 'batch'; ids: number[]; content: number }
  | { kind: 'wait'; micros: number };

const ids = fc.integer({ min: 0, max: 5 });
const contents = fc.integer({ min: 0, max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('set', 'create', 'merge'), id: ids, content: contents }),
  fc.record({ kind: fc.constant('delete'), id: ids }),
  fc.record({ kind: fc.constant('batch'), ids: fc.uniqueArray(ids, { minLength: 1 }), content: contents }),
  fc.record({ kind: fc.constant('wait'), micros: fc.integer({ min: 1, max: 60_000_000 }) }),
) as fc.Arbitrary<Step>;

/** The simple model: a map of documents after each commit. */
type Model = ReadonlyMap<string, number>;

function path(id: number): string {
  return id % 2 === 0 ? `things/d${id}` : `things/d0/below/d${id}`;
}

function writesOf(one: Exclude<Step, { kind: 'wait' }>): object[] {
  if (one.kind === 'delete') return [{ delete: `${root}/${path(one.id)}` }];
  if (one.kind === 'batch')
    return one.ids.map((id) => ({ update: documentBytes(path(id), fields({ n: one.content })) }));
  const update = documentBytes(path(one.id), fields({ n: one.content }));
  if (one.kind === 'create') return [{ update, currentDocument: { exists: false } }];
  return one.kind === 'merge' ? [{ update, updateMask: { fieldPaths: ['n'] } }] : [{ update }];
}

function applyToModel(model: Model, one: Exclude<Step, { kind: 'wait' }>): Model {
  const next = new Map(model);
  if (one.kind === 'delete') next.delete(path(one.id));
  else for (const id of one.kind === 'batch' ? one.ids : [one.id]) next.set(path(id), one.content);
  return next;
}

function contentOf(document: Uint8Array): number {
  const found = findField(document, ['n'])!;
  const value = decodeValue(found.bytes, found.start, found.end);
  return value.rank === 2 ? value.double : Number.NaN;
}

test('after any sequence of writes, reads at any past time return the contents of a simple model', async () => {
  const clock = new ManualClock();
  const sandbox = await startFirestoreSandbox({ clock });
  const client = new RawClient(sandbox.port);
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 25 }),
      fc.infiniteStream(fc.nat(1_000)),
      async (steps, picks) => {
        sandbox.control.clear(name);
        clock.micros += 10;
        const start = sandbox.control.database(name).currentTime();
        const history: { time: number; model: Model }[] = [{ time: start, model: new Map() }];
        for (const one of steps) {
          if (one.kind === 'wait') {
            clock.micros += one.micros;
            continue;
          }
          const { model } = history.at(-1)!;
          const expectFailure = one.kind === 'create' && model.has(path(one.id));
          const commit = client.unary('Commit', { database: database, writes: writesOf(one) });
          if (expectFailure) await expect(commit).rejects.toThrow('ALREADY_EXISTS');
          else history.push({ time: timeOf((await commit).commitTime), model: applyToModel(model, one) });
        }
        const now = sandbox.control.database(name).currentTime();
        for (let read = 0; read < 6; read++) {
          const time = start + Math.floor((picks.next().value! / 1_000) * (now - start));
          const { model } = history.findLast((state) => state.time <= time)!;
          await expectState(client, time, model);
        }
        for (const { time, model } of history) await expectState(client, time, model);
      },
    ),
    { numRuns: 60 },
  );
  client.close();
  await sandbox.stop();
});

async function expectState(client: RawClient, time: number, model: Model): Promise<void> {
  const readTime = timestampFrom(time);
  const structuredQuery = { from: [{ allDescendants: true }] };
  const responses = await client.stream('RunQuery', { parent: root, structuredQuery, readTime });
  const found = responses
    .filter((response) => response.document.length > 0)
    .map(({ document }): [string, number] => [
      splitDocument(document).name.slice(root.length + 1),
      contentOf(document),
    ]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(model));
  const got = await client.stream('BatchGetDocuments', {
    database: database,
    documents: [0, 1, 2, 3, 4, 5].map((id) => `${root}/${path(id)}`),
    readTime,
  });
  expect(got.filter((response) => response.found.length > 0).length).toBe(model.size);
  const [counted] = await client.stream('RunAggregationQuery', {
    parent: root,
    structuredAggregationQuery: { structuredQuery, aggregations: [{ alias: 'n', count: {} }] },
    readTime,
  });
  expect(decodeValue(counted!.result.aggregateFields.n)).toMatchObject({ double: model.size });
}
