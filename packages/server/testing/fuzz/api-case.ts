import { eventNames, type Operation, requestExamples } from '@holdfast/contract';
import fc from 'fast-check';
import type { ApiWorld, Caller } from './api-world.ts';
import { arbitraryOf, type Named } from './arbitrary.ts';
import { absurd, nearly } from './mutate.ts';

export type Care = 'valid' | 'nearly valid' | 'absurd';

export interface ApiCase {
  operation: Operation;
  care: Care;
  caller: Caller;
  path: string;
  body: unknown;
  headers: Record<string, string>;
}

const oftenThese = <T>(often: readonly T[], seldom: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...often) }, { weight: 1, arbitrary: seldom });
const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });

/** Only this machine is ever dialled: all addresses and names lead to it. */
const addresses = ['https://127.0.0.1:9/hook', 'https://hooks.invalid/x', 'https://[::1]:9', 'http://localhost:9'];

function namedOf(world: ApiWorld): Named {
  const ids = (parameter: string) =>
    oftenThese([world.ids[parameter] ?? 'made_up'], fc.oneof(word, fc.constant('made_up')));
  const pick = (...values: string[]) => oftenThese(values, word);
  const fixed: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    sourceProjectId: pick('shop', 'empty'),
    databaseId: pick('(default)'),
    slug: fc.stringMatching(/^[a-z]{3,20}$/),
    region: pick('eu-central-1', 'fra1'),
    bucket: pick('backups', 'acme-backups'),
    host: pick(world.firestoreHost, '127.0.0.1:9'),
    endpoint: pick(...addresses),
    url: pick(...addresses),
    redirectUri: pick(...addresses),
    redirect_uri: pick(...addresses),
    timezone: pick('UTC', 'Europe/Berlin', 'Mars/Phobos'),
    cron: pick('0 3 * * *', '*/5 * * * 1-5', '0 0 30 2 *', 'a b c d e', '61 * * * *'),
    events: pick('*', 'backup.*', ...eventNames),
    collections: pick('users', 'orders', 'users/ada/orders'),
    collection: pick('users', 'orders', 'users/ada/orders'),
    document: pick('users/ada', 'users/nobody'),
    documentPath: pick('users/ada', 'users/nobody'),
    documentIds: pick('users/ada', 'users/nobody'),
    search: pick('ada', 'a'),
    path: pick('users/ada', `storage/${world.organization.id}`, 'manifest'),
    against: pick('live', world.ids.backupId ?? ''),
    confirmName: pick('Fuzz', 'fuzz'),
    defaultStorageId: ids('storageDestinationId'),
    toStorageDestinationId: ids('storageDestinationId'),
    storageDestinationIds: ids('storageDestinationId'),
    targetProjectId: ids('projectId'),
    projects: ids('projectId'),
    at: pick(world.moment),
    pointInTime: pick(world.moment),
    cursor: pick('eyJ2IjoxfQ', ''),
    limit: oftenThese<unknown>([1, 2, 50, 200, 201], fc.integer()),
  };
  return (field) => fixed[field] ?? (field in world.ids ? ids(field) : undefined);
}

export function caseOf(operation: Operation, world: ApiWorld): fc.Arbitrary<ApiCase> {
  const named = namedOf(world);
  const caller = fc.oneof(
    { weight: 12, arbitrary: fc.constant<Caller>('owner') },
    { weight: 1, arbitrary: fc.constantFrom<Caller>('viewer', 'key', 'anonymous') },
  );
  const care = fc.constantFrom<Care>('valid', 'valid', 'nearly valid', 'absurd');
  return fc.tuple(care, caller).chain(([chosen, who]) =>
    fc
      .tuple(
        pathOf(operation, chosen, named),
        queryOf(operation, chosen, named),
        bodyOf(operation, chosen, named, world.ids),
        headersOf(operation),
      )
      .map(([path, query, body, headers]) => ({
        operation,
        care: chosen,
        caller: who,
        path: `${path}${query}`,
        body,
        headers,
      })),
  );
}

/** A segment of dots would be resolved and reach another call. */
const encoded = (value: string) => encodeURIComponent(/^\.*$/.test(value) ? 'dots' : value.toWellFormed());

function pathOf(operation: Operation, care: Care, named: Named): fc.Arbitrary<string> {
  const names = Object.keys(operation.params?.shape ?? {});
  const value = (name: string) => {
    const usual = (named(name) ?? fc.constant('made_up')) as fc.Arbitrary<string>;
    return care === 'absurd' ? fc.oneof(usual, fc.string({ unit: 'binary', maxLength: 30 })) : usual;
  };
  return fc
    .record(Object.fromEntries(names.map((name) => [name, value(name)])))
    .map((values) => operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(String(values[name] ?? 'x'))));
}

function queryOf(operation: Operation, care: Care, named: Named): fc.Arbitrary<string> {
  if (!operation.query) return fc.constant('');
  const valid = arbitraryOf(operation.query, named);
  const chosen = care === 'valid' ? valid : care === 'nearly valid' ? valid.chain(nearly) : absurd;
  return chosen.map((query) => {
    const entries = typeof query === 'object' && query !== null ? Object.entries(query) : [];
    const pairs = entries.map(([name, value]): [string, string] => [
      name.toWellFormed(),
      (typeof value === 'object' ? JSON.stringify(value) : String(value)).toWellFormed(),
    ]);
    return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
  });
}

/** The contract's own example with existing ids instead of its invented ones. */
function exampleOf(operation: Operation, ids: Readonly<Record<string, string>>): unknown {
  const example: unknown = requestExamples[operation.id as keyof typeof requestExamples];
  const replaced = JSON.stringify(example, (key, value: unknown) =>
    typeof value === 'string' && /^(to[A-Z]\w+|\w+)Id$/.test(key) ? (ids[key.replace(/^toS/, 's')] ?? value) : value,
  );
  return JSON.parse(replaced);
}

function bodyOf(
  operation: Operation,
  care: Care,
  named: Named,
  ids: Readonly<Record<string, string>>,
): fc.Arbitrary<unknown> {
  const { body } = operation;
  if (!body)
    return care === 'absurd' && operation.method !== 'GET'
      ? fc.option(absurd, { nil: undefined })
      : fc.constant(undefined);
  const valid = fc.oneof(
    { weight: 3, arbitrary: arbitraryOf(body, named) },
    { weight: 2, arbitrary: fc.constant(exampleOf(operation, ids)) },
  );
  if (care === 'absurd') return absurd;
  return care === 'valid' ? valid : valid.chain(nearly);
}

function headersOf(operation: Operation): fc.Arbitrary<Record<string, string>> {
  const keys = fc.stringMatching(/^[a-z]{1,3}$/);
  return fc.record(
    {
      ...(operation.idempotencyKey ? { 'idempotency-key': keys } : {}),
      ...(operation.etag ? { 'if-match': fc.constantFrom('*', '"1"', 'x', '') } : {}),
    },
    { requiredKeys: [] },
  );
}
