import type { ErrorCode, Operation } from '@holdfast/contract';
import { z } from 'zod';
import type { JsonSchema } from './json-schema.ts';

const words = [
  'sample',
  'a',
  '0',
  '#',
  'sample@example.com',
  'https://example.com/x',
  '2026-01-01T00:00:00Z',
  '2026-01-01',
];

/**
 * Codes about external systems: a call that declares one and names no resource connects to the outside as soon as its
 * body is valid.
 */
const upstreamCodes: readonly ErrorCode[] = ['SOURCE_AUTH_ERROR', 'SOURCE_UNAVAILABLE', 'STORAGE_UNAVAILABLE'];

export function dialsOut(operation: Operation): boolean {
  return !operation.path.includes('{') && operation.errors.some((code) => upstreamCodes.includes(code));
}

/**
 * The smallest body that an operation accepts, made from its schema; undefined when it has none or none can be made.
 */
export function sampleBody(operation: Operation): unknown {
  if (!operation.body) return undefined;
  const schema = z.toJSONSchema(operation.body, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const body = sampleOf(schema);
  return operation.body.safeParse(body).success ? body : undefined;
}

const idAliases: [RegExp, string][] = [
  [/projectId$/i, 'projectId'],
  [/storage(Destination)?Id$/i, 'storageDestinationId'],
  [/backupId$/i, 'backupId'],
  [/^organizationId$/, 'organizationId'],
];

/** Like `sampleBody`, but every field that can name a resource, also an optional one, names one of the given ones. */
export function sampleBodyNaming(operation: Operation, ids: Readonly<Record<string, string>>): unknown {
  if (!operation.body) return undefined;
  const schema = z.toJSONSchema(operation.body, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const body = { ...(sampleOf(schema) as object), ...idsOf(schema, ids) };
  return operation.body.safeParse(body).success ? body : sampleBody(operation);
}

function idsOf(schema: JsonSchema, ids: Readonly<Record<string, string>>): Record<string, unknown> {
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, property]): [string, unknown][] => {
    const parameter = idAliases.find(([pattern]) => pattern.test(name))?.[1];
    if (parameter !== undefined) return [[name, ids[parameter]]];
    const nested = idsOf(property, ids);
    return Object.keys(nested).length > 0 ? [[name, nested]] : [];
  });
  return Object.fromEntries(entries);
}

/** The query an operation needs, with its question mark; empty when it needs none. */
export function sampleQuery(operation: Operation): string {
  if (!operation.query) return '';
  const schema = z.toJSONSchema(operation.query, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const required = Object.entries(sampleOf(schema) as Record<string, unknown>);
  const entries = required.map(([key, value]): [string, unknown] => [key, key === 'document' ? 'users/ada' : value]);
  const query = new URLSearchParams(entries.map(([key, value]): [string, string] => [key, String(value)]));
  return entries.length === 0 ? '' : `?${query}`;
}

function sampleOf(schema: JsonSchema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const union = schema.anyOf ?? schema.oneOf;
  if (union?.[0]) return sampleOf(union[0]);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(sampleOf));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object')
    return Object.fromEntries((schema.required ?? []).map((key) => [key, sampleOf(schema.properties?.[key] ?? {})]));
  if (type === 'array') return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items ?? {}));
  if (type === 'integer' || type === 'number') return Math.max(schema.minimum ?? 1, 1);
  if (type === 'boolean') return true;
  return sampleText(schema);
}

function sampleText(schema: JsonSchema): string {
  const pattern = schema.pattern ? new RegExp(schema.pattern, 'u') : undefined;
  const fits = (word: string) =>
    word.length >= (schema.minLength ?? 0) && word.length <= (schema.maxLength ?? 1e6) && (pattern?.test(word) ?? true);
  if (schema.format === 'email') return 'sample@example.com';
  if (schema.format === 'uri') return 'https://example.com/x';
  return [...words, 'x'.repeat(schema.minLength ?? 0)].find(fits) ?? 'sample';
}

/** Whether an answer may be endless: then only its beginning can be checked. */
export function isFollowed({ success }: Operation): boolean {
  return success.kind === 'stream' && success.contentTypes.includes('text/event-stream');
}
