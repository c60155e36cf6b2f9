import type { ErrorCode } from '../errors.ts';
import { errorCodes, errorDefinition } from '../errors.ts';
import type { Operation, Success } from '../operation.ts';
import { errorsOf } from '../operation.ts';
import { pagination } from '../schemas/primitives.ts';
import { errorHeaders, successHeaders } from './headers.ts';
import type { JsonSchema, SchemaCollection } from './schemas.ts';

const shortText = { type: 'string', pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$', maxLength: 2000 };

/** `BACKUP_NOT_FOUND` → `BackupNotFound` */
const pascal = (code: string) =>
  code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

function envelope(properties: Record<string, JsonSchema>): JsonSchema {
  return {
    type: 'object',
    properties: { success: { type: 'boolean', const: true }, ...properties },
    required: ['success', ...Object.keys(properties)],
  };
}

function successSchema(success: Success, schemas: SchemaCollection): JsonSchema {
  if (success.kind === 'message') return envelope({ message: shortText });
  if (!('schema' in success) || !success.schema) return {};
  const data = schemas.convert(success.schema, 'output');
  if (success.kind === 'bare') return data;
  if (success.kind === 'data') return envelope({ data });
  const page = schemas.convert(pagination, 'output');
  if (success.kind !== 'list') return envelope({ data, pagination: page });
  const shown = envelope({ data: { type: 'array', items: data, maxItems: 200 }, pagination: page });
  if (!success.beside) return shown;
  const beside = schemas.convert(success.beside, 'output') as { properties: object };
  return { ...shown, properties: { ...(shown.properties as object), ...beside.properties } };
}

function streamContent(success: Success & { kind: 'stream' }, schemas: SchemaCollection) {
  const item = success.schema ? schemas.convert(success.schema, 'output') : {};
  return Object.fromEntries(
    success.contentTypes.map((contentType) => [
      contentType,
      {
        schema:
          contentType === 'application/json'
            ? { type: 'array', items: item, maxItems: 100_000_000 }
            : { description: 'One entry after another.', contentMediaType: contentType, contentSchema: item },
      },
    ]),
  );
}

function content(success: Success, schemas: SchemaCollection) {
  if (success.kind === 'redirect') return {};
  if (success.kind === 'stream') return { content: streamContent(success, schemas) };
  const contentType = (success.kind === 'bare' && success.contentType) || 'application/json';
  return { content: { [contentType]: { schema: successSchema(success, schemas) } } };
}

const statusNames: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted; the work continues after this answer.',
  302: 'Go to `Location`.',
  503: 'The service cannot work at the moment.',
};

/** Two successful answers with one status become one with alternatives. */
function successResponses(operation: Operation, schemas: SchemaCollection) {
  return [operation.success, ...(operation.alternatives ?? [])].map((success) => [
    String(success.status),
    {
      description: statusNames[success.status],
      headers: successHeaders(operation, success.status),
      ...content(success, schemas),
    },
  ]);
}

const failed = (error: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: { success: { type: 'boolean', const: false }, error },
  required: ['success', 'error'],
});

function errorSchema(code: ErrorCode, schemas: SchemaCollection): JsonSchema {
  const { details, description } = errorDefinition(code);
  return schemas.add(`${pascal(code).replace(/Error$/, '')}Error`, {
    type: 'object',
    description,
    properties: {
      code: { type: 'string', const: code },
      message: shortText,
      ...(details && { details: schemas.convert(details, 'output') }),
      requestId: { ...shortText, maxLength: 200 },
    },
    required: ['code', 'message', 'requestId'],
  });
}

/** One code: its schema. Several: distinguished by the code. */
function anyOf(codes: readonly ErrorCode[], schemas: SchemaCollection): JsonSchema {
  const options = codes.map((code) => errorSchema(code, schemas));
  if (options.length === 1) return options[0]!;
  const mapping = Object.fromEntries(codes.map((code, index) => [code, options[index]!.$ref]));
  return { type: 'object', oneOf: options, discriminator: { propertyName: 'code', mapping } };
}

const exampleDetails: { readonly [C in ErrorCode]?: object } = {
  VALIDATION_ERROR: { field: 'url', reason: 'must be a valid HTTPS URL' },
  FORBIDDEN: { requiredScope: 'backups:write' },
  PERMISSION_DENIED: { requiredRole: 'admin', currentRole: 'viewer' },
  RESOURCE_IN_USE: { usedBy: [{ type: 'backup', id: 'bkp_01JNF3QG5K7M9P2R4T' }] },
  LIMIT_REACHED: { limit: 50 },
  INVALID_STATE: { status: 'completed' },
  GONE: { path: '/api/v1/backups' },
  POINT_IN_TIME_UNAVAILABLE: { before: '2026-03-01T02:00:00.000Z', after: '2026-03-01T03:10:00.000Z' },
};

function errorExample(code: ErrorCode) {
  const details = exampleDetails[code];
  const error = {
    code,
    message: errorDefinition(code).description,
    ...(details && { details }),
    requestId: 'req_7f3k2m9q',
  };
  return { summary: errorDefinition(code).description, value: { success: false, error } };
}

const explain = (codes: readonly ErrorCode[]) =>
  codes.map((code) => `\`${code}\`: ${errorDefinition(code).description}`).join('\n\n');

/** Sent before an operation is found, so no operation lists them. */
const generalErrors: readonly ErrorCode[] = ['METHOD_NOT_ALLOWED', 'GONE', 'HEADERS_TOO_LARGE'];

/** Every other error has this form, with any code. */
function anyError(): object {
  const error = {
    type: 'object',
    properties: {
      code: { type: 'string', enum: errorCodes },
      message: shortText,
      details: { type: 'object', description: 'What the code calls for.' },
      requestId: { ...shortText, maxLength: 200 },
    },
    required: ['code', 'message', 'requestId'],
  };
  const examples = Object.fromEntries(generalErrors.map((code) => [code, errorExample(code)]));
  return {
    description: `Any other error.\n\n${explain(errorCodes)}`,
    headers: errorHeaders(405),
    content: { 'application/json': { schema: failed(error), examples } },
  };
}

/** Answers with the same codes are one component, named after them. */
export class ResponseCollection {
  readonly components: Record<string, object> = {};
  readonly schemas: SchemaCollection;

  constructor(schemas: SchemaCollection) {
    this.schemas = schemas;
  }

  of(operation: Operation): Record<string, object> {
    const good = successResponses(operation, this.schemas);
    const taken = new Set(good.map(([status]) => status));
    const bad = Object.entries(byStatus(documentedErrors(operation))).filter(([status]) => !taken.has(status));
    const named = bad.map(([status, codes]) => [status, this.#refer(codes)]);
    return Object.fromEntries([...good, ...named, ['default', this.#referToAny()]]);
  }

  #refer(codes: readonly ErrorCode[]): object {
    const name = codes.map(pascal).join('Or');
    this.components[name] ??= this.#build(codes);
    return { $ref: `#/components/responses/${name}` };
  }

  #referToAny(): object {
    this.components.AnyError ??= anyError();
    return { $ref: '#/components/responses/AnyError' };
  }

  #build(codes: readonly ErrorCode[]): object {
    const examples = Object.fromEntries(codes.map((code) => [code, errorExample(code)]));
    return {
      description: explain(codes),
      headers: errorHeaders(errorDefinition(codes[0]!).status),
      content: { 'application/json': { schema: failed(anyOf(codes, this.schemas)), examples } },
    };
  }
}

/**
 * Generic clients and gateways expect every call to document its answers for a bad request, a missing credential and a
 * used-up limit, so calls that never send them document them too.
 */
function documentedErrors(operation: Operation): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>([...errorsOf(operation), 'VALIDATION_ERROR', 'UNAUTHORIZED', 'RATE_LIMITED']);
  return errorCodes.filter((code) => codes.has(code));
}

function byStatus(codes: readonly ErrorCode[]): Record<string, ErrorCode[]> {
  return Object.groupBy(codes, (code) => String(errorDefinition(code).status)) as Record<string, ErrorCode[]>;
}
