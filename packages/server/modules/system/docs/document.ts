import openapi from '@holdfast/contract/openapi.json' with { type: 'json' };

/** As much of OpenAPI as the page shows. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  properties?: Record<string, Schema | boolean>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  contentMediaType?: string;
  contentSchema?: Schema;
}

export interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

export interface Media {
  schema: Schema;
  examples?: Record<string, { value: unknown }>;
}

export interface Answer {
  $ref?: string;
  description: string;
  content?: Record<string, Media>;
}

export interface Call {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Answer>;
}

interface Document {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Call>>;
  webhooks: Record<string, { post: Call }>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Answer>;
  };
}

export const document = openapi as unknown as Document;

export const nameOf = (ref: string) => ref.split('/').at(-1) ?? '';

/** What a reference leads to, or the thing itself. */
export const schemaOf = (schema: Schema): Schema =>
  schema.$ref ? (document.components.schemas[nameOf(schema.$ref)] ?? {}) : schema;
export const parameterOf = (parameter: Parameter): Parameter =>
  parameter.$ref ? (document.components.parameters[nameOf(parameter.$ref)] ?? parameter) : parameter;
export const answerOf = (answer: Answer): Answer =>
  answer.$ref ? (document.components.responses[nameOf(answer.$ref)] ?? answer) : answer;
