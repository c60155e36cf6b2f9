import { z } from 'zod';

export type JsonSchema = { [keyword: string]: unknown };

/** Formats with a clear name; Zod's own patterns for them would bloat the document. */
const selfExplaining = new Set(['date-time', 'date', 'email', 'base64']);

/**
 * Converts Zod schemas into JSON Schema and collects every named one under `components.schemas`. A name has one
 * meaning: a schema that looks different as a request and as an answer must not be shared under one name.
 */
export class SchemaCollection {
  readonly components: Record<string, JsonSchema> = {};

  convert(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    // Wrapped, because a named schema at the root would be inlined instead of referenced.
    const converted: unknown = z.toJSONSchema(z.object({ schema }), {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: unknown }) =>
        polish(zodSchema as z.ZodType, jsonSchema as JsonSchema),
    });
    const wrapped = converted as { properties: { schema: JsonSchema }; $defs?: Record<string, JsonSchema> };
    for (const [name, definition] of Object.entries(wrapped.$defs ?? {})) this.add(name, pointToComponents(definition));
    return pointToComponents(wrapped.properties.schema);
  }

  add(name: string, schema: JsonSchema): JsonSchema {
    const known = this.components[name];
    if (known && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`Two different schemas are named ${name}`);
    this.components[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }
}

function polish(zodSchema: z.ZodType, jsonSchema: JsonSchema): void {
  const documentedAs = zodSchema.meta()?.documentedAs as JsonSchema | undefined;
  if (documentedAs) {
    const { description } = jsonSchema;
    for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
    Object.assign(jsonSchema, documentedAs, description ? { description } : {});
  }
  delete jsonSchema.documentedAs;
  delete jsonSchema.id;
  delete jsonSchema.propertyNames;
  if (selfExplaining.has(jsonSchema.format as string)) delete jsonSchema.pattern;
  // Answers may get new fields within a version, so the document does not exclude others.
  if (!isStrict(zodSchema) && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
}

function isStrict(schema: z.ZodType): boolean {
  return schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever;
}

/**
 * Security linters treat every key named `headers` as the headers of an answer. So a property of that name (the custom
 * headers of a webhook) is declared without a schema, and gets it from a pattern that matches nothing else.
 */
function declareHeadersApart(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(declareHeadersApart);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, declareHeadersApart(value)]));
  const properties = copy.properties as JsonSchema | undefined;
  if (copy.type !== 'object' || !properties?.headers) return copy;
  return {
    ...copy,
    properties: { ...properties, headers: true },
    patternProperties: { '^headers$': properties.headers },
  };
}

function pointToComponents<T>(schema: T): T {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
  return declareHeadersApart(JSON.parse(text)) as T;
}
