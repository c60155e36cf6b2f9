import { type Schema, schemaOf } from './document.ts';

const depthMax = 6;
const texts = ['Shop', 'shop', '0', 'usr_01JNF3Q7P5D9G2H6JK', 'https://acme.test/x', '12345678901234567890'];
const byFormat: Readonly<Record<string, string>> = {
  'date-time': '2026-03-01T02:00:00.000Z',
  date: '2026-03-01',
  email: 'ada@acme.test',
  uri: 'https://acme.test/shop',
  base64: 'SGVsbG8=',
  jwt: 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ1c3JfMSJ9.c2ln',
};

/** Fields whose name says more than their schema. */
const byName: Readonly<Record<string, string>> = {
  action: 'backup.created',
  against: 'live',
  collection: 'users',
  currency: 'USD',
  cron: '30 2 * * *',
  cronExpression: '30 2 * * *',
  field: 'email',
  message: 'Done.',
  path: 'users/ada',
  phase: 'Reading',
  slug: 'acme',
  timezone: 'Europe/Berlin',
  url: 'https://acme.test/hooks/backups',
};

/** A small, readable value that fits the schema. */
export function exampleOf(given: Schema, depth = 0, name = ''): unknown {
  const schema = schemaOf(given);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices?.[0]) {
    const isDeep = depth >= depthMax && choices.some(({ type }) => type === 'null');
    return isDeep ? null : exampleOf(choices[0], depth, name);
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object') return exampleObject(schema, depth);
  if (type === 'array') return exampleArray(schema, depth);
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (type === 'integer' || type === 'number') return Math.max(schema.minimum ?? 0, Math.min(schema.maximum ?? 12, 12));
  return type === 'string' ? exampleText(schema, name) : {};
}

function exampleObject(schema: Schema, depth: number): object {
  const names = Object.keys(schema.properties ?? {});
  // Where no field is required, an example with some says more than an empty one.
  const required = new Set(schema.required?.length ? schema.required : names.slice(0, 1));
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, property]): [string, unknown][] => {
    if (!required.has(name)) return [];
    const declared = property === true ? schema.patternProperties?.[`^${name}$`] : property;
    return [[name, exampleOf((declared || {}) as Schema, depth + 1, name)]];
  });
  return Object.fromEntries(entries);
}

/** One entry stands for all; none where the schema would contain itself. */
function exampleArray(schema: Schema, depth: number): unknown[] {
  const wanted = Math.max(schema.minItems ?? 0, depth < depthMax ? 1 : 0);
  return Array.from({ length: wanted }, () => exampleOf(schema.items ?? {}, depth + 1));
}

function exampleText(schema: Schema, name: string): string {
  const known = schema.format && byFormat[schema.format];
  if (known) return known;
  const pattern = schema.pattern ? new RegExp(schema.pattern, 'u') : undefined;
  const prefix = /^\^([a-z]+_)(?:sa_)?\[0-9A-Za-z\]/.exec(schema.pattern ?? '')?.[0];
  if (prefix) return `${prefix.slice(1, prefix.indexOf('['))}01JNF3QG5K7M9P2R4T`;
  if (schema.pattern?.startsWith('^[0-9a-f]{64}'))
    return '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
  const fits = (word: string) =>
    word.length >= (schema.minLength ?? 0) &&
    word.length <= (schema.maxLength ?? word.length) &&
    (pattern?.test(word) ?? true);
  return [byName[name] ?? '', ...texts].filter((word) => word !== '').find(fits) ?? '';
}
