import {
  type ErrorCode,
  errorDefinition,
  errorsOf,
  type Operation,
  pagination,
  type Success,
} from '@holdfast/contract';
import { z } from 'zod';

export interface ApiAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** A stream was closed before its end. */
  isCut: boolean;
}

/** Sent before an operation is found or instead of it, so no operation lists them. */
const general: readonly ErrorCode[] = ['METHOD_NOT_ALLOWED', 'GONE', 'HEADERS_TOO_LARGE', 'NOT_FOUND'];

const errorBody = z.strictObject({
  success: z.literal(false),
  error: z.strictObject({
    code: z.string(),
    message: z.string().min(1),
    details: z.record(z.string(), z.unknown()).optional(),
    requestId: z.string().min(1),
  }),
});

/** What is wrong with an answer, in words; undefined when it matches the contract. */
export function faultOf(operation: Operation, answer: ApiAnswer): string | undefined {
  if (answer.status === 304) return undefined;
  const promised = [operation.success, ...(operation.alternatives ?? [])].filter(
    ({ status }) => status === answer.status,
  );
  return promised.length > 0 ? goodFault(promised, answer) : errorFault(operation, answer);
}

function errorFault(operation: Operation, { status, headers, text }: ApiAnswer): string | undefined {
  const parsed = errorBody.safeParse(json(text));
  if (!parsed.success) return `no error envelope: ${z.prettifyError(parsed.error)}`;
  const { code, details, requestId } = parsed.data.error;
  if (![...errorsOf(operation), ...general].includes(code as ErrorCode)) return `${code} is not among its errors`;
  const definition = errorDefinition(code as ErrorCode);
  if (status !== definition.status) return `${code} belongs to ${definition.status}`;
  if (status === 500 || status === 503) return 'failed';
  if (requestId !== headers.get('x-request-id')) return 'the request id of the body is not that of the header';
  const told = definition.details?.safeParse(details ?? {});
  return details && told && !told.success ? `details of ${code}: ${z.prettifyError(told.error)}` : undefined;
}

function goodFault(promised: readonly Success[], answer: ApiAnswer): string | undefined {
  const faults = promised.map((success) => successFault(success, answer));
  return faults.every((fault) => fault !== undefined) ? faults[0] : undefined;
}

function successFault(success: Success, { headers, text, isCut }: ApiAnswer): string | undefined {
  if (success.kind === 'redirect') return headers.get('location') ? undefined : 'no Location';
  if (success.kind === 'stream') return streamFault(success, headers.get('content-type') ?? '', text, isCut);
  if (success.kind === 'bare' && success.contentType) return parseFault(success.schema, text);
  return parseFault(envelopeOf(success), json(text));
}

function envelopeOf(success: Exclude<Success, { kind: 'redirect' | 'stream' }>): z.ZodType {
  const good = z.literal(true);
  if (success.kind === 'message') return z.strictObject({ success: good, message: z.string().min(1) });
  if (success.kind === 'bare') return success.schema;
  if (success.kind === 'data') return z.strictObject({ success: good, data: success.schema });
  if (success.kind === 'page') return z.strictObject({ success: good, data: success.schema, pagination });
  const data = z.array(success.schema).max(200);
  return z.strictObject({ success: good, data, pagination, ...success.beside?.shape });
}

function parseFault(schema: z.ZodType, value: unknown): string | undefined {
  const result = schema.safeParse(value);
  return result.success ? undefined : z.prettifyError(result.error).slice(0, 2000);
}

/** Complete lines and events must match the schema; an incomplete one is ignored. */
function streamFault(
  success: Success & { kind: 'stream' },
  type: string,
  text: string,
  isCut: boolean,
): string | undefined {
  if (!success.contentTypes.some((promised) => type.startsWith(promised))) return `an answer of type ${type}`;
  const entries = type.startsWith('text/event-stream')
    ? [...text.matchAll(/^data: (.*)\n/gm)].map((match) => match[1] ?? '')
    : type.startsWith('application/x-ndjson')
      ? text
          .split('\n')
          .slice(0, isCut ? -1 : undefined)
          .filter((line) => line !== '')
      : [];
  for (const entry of entries) {
    const fault = success.schema && parseFault(success.schema, json(entry));
    if (fault) return `an entry of the stream: ${fault}`;
  }
  return undefined;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
