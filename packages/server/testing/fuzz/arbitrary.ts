import fc from 'fast-check';
import { z } from 'zod';
import type { JsonSchema } from '../json-schema.ts';

/** The usual contents of a field with this name: existing ids, allowed hosts. */
export type Named = (field: string) => fc.Arbitrary<unknown> | undefined;

type Values = fc.Arbitrary<unknown>;

const depthMax = 5;

/**
 * Values that a schema accepts, or nearly: what only code can check is left to chance and to the names of the fields.
 */
export function arbitraryOf(schema: z.ZodType, named: Named): Values {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const { toArbitrary } = new Converter(root, named);
  return toArbitrary(root, '', 0);
}

class Converter {
  readonly #root: JsonSchema;
  readonly #named: Named;

  constructor(root: JsonSchema, named: Named) {
    this.#root = root;
    this.#named = named;
  }

  toArbitrary = (given: JsonSchema, name: string, depth: number): Values => {
    const schema = this.#resolve(given);
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return fc.oneof(...choices.map((choice) => this.toArbitrary(choice, name, depth)));
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    if (type === 'object') return this.#object(schema, depth);
    if (type === 'array') return this.#array(schema, name, depth);
    if (type === 'string') return this.#named(name) ?? text(schema);
    if (type === 'integer' || type === 'number') return this.#named(name) ?? numbers(schema, type);
    if (type === 'boolean') return fc.boolean();
    if (type === 'null') return fc.constant(null);
    return this.#named(name) ?? fc.jsonValue({ maxDepth: 2 });
  };

  #resolve({ $ref, ...schema }: JsonSchema): JsonSchema {
    if ($ref === undefined) return schema;
    if ($ref === '#') return this.#root;
    return this.#root.$defs?.[$ref.split('/').at(-1) ?? ''] ?? {};
  }

  #object(schema: JsonSchema, depth: number): Values {
    const required = new Set(schema.required);
    const entries = Object.entries(schema.properties ?? {})
      .filter(([name]) => depth < depthMax || required.has(name))
      .map(([name, property]): [string, Values] => [name, this.toArbitrary(property, name, depth + 1)]);
    const own = fewOf(Object.fromEntries(entries), required);
    const { additionalProperties: others } = schema;
    if (typeof others !== 'object' || entries.length > 0) return own;
    return fc.dictionary(fc.stringMatching(/^[A-Za-z][A-Za-z-]{0,15}$/), this.toArbitrary(others, '', depth + 1), {
      maxKeys: 3,
    });
  }

  #array(schema: JsonSchema, name: string, depth: number): Values {
    const minLength = schema.minItems ?? 0;
    const maxLength = Math.min(schema.maxItems ?? 4, Math.max(minLength, 4));
    return fc.uniqueArray(this.toArbitrary(schema.items ?? {}, name, depth + 1), {
      minLength: Math.min(minLength, 1),
      maxLength: depth < depthMax ? maxLength : minLength,
      selector: (value) => JSON.stringify(value),
    });
  }
}

/** Mostly the required fields and a few more: the more fields, the likelier is a contradiction. */
function fewOf(fields: Record<string, Values>, required: ReadonlySet<string>): Values {
  const optional = Object.keys(fields).filter((name) => !required.has(name));
  const chosen = fc.oneof(
    { weight: 3, arbitrary: fc.subarray(optional, { maxLength: Math.min(2, optional.length) }) },
    { weight: 1, arbitrary: fc.subarray(optional) },
  );
  return chosen.chain((names) => {
    const shown = Object.entries(fields).filter(([name]) => required.has(name) || names.includes(name));
    return fc.record(Object.fromEntries(shown));
  });
}

function numbers({ minimum = -1e9, maximum = 1e9 }: JsonSchema, type: string): Values {
  const edges = fc.constantFrom(minimum, maximum);
  const between =
    type === 'integer'
      ? fc.integer({ min: Math.ceil(minimum), max: Math.min(Math.floor(maximum), Number.MAX_SAFE_INTEGER) })
      : fc.double({ min: minimum, max: maximum, noNaN: true });
  return fc.oneof({ weight: 3, arbitrary: between }, { weight: 1, arbitrary: edges });
}

const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'date-time': fc.constantFrom('2026-01-01T00:00:00Z', '2026-11-15T12:30:00.123+02:00', '1970-01-01T00:00:00Z'),
  date: fc.constantFrom('2026-01-01', '2024-02-29', '9999-12-31'),
  email: fc.stringMatching(/^[a-z]{1,12}$/).map((word) => `${word}@example.com`),
  base64: fc.base64String({ maxLength: 60 }),
};

function text({ format, pattern, minLength = 0, maxLength = 40 }: JsonSchema): fc.Arbitrary<string> {
  const formatted = formats[format ?? ''];
  if (formatted) return formatted;
  const free = fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) });
  const longest = fc.constant('x'.repeat(Math.min(maxLength, 10_000)));
  const any = fc.oneof({ weight: 9, arbitrary: free }, { weight: 1, arbitrary: longest });
  const matching = matchingOf(pattern, maxLength);
  return matching ? fc.oneof({ weight: 4, arbitrary: matching }, { weight: 1, arbitrary: any }) : any;
}

/** Undefined for a pattern from which no text can be generated. */
function matchingOf(pattern: string | undefined, maxLength: number): fc.Arbitrary<string> | undefined {
  if (pattern === undefined) return undefined;
  try {
    return fc.stringMatching(new RegExp(pattern), { size: '-1' }).map((value) => value.slice(0, maxLength));
  } catch {
    return undefined;
  }
}
