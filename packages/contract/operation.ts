import type { z } from 'zod';
import type { Access, Plan } from './access.ts';
import type { ErrorCode } from './errors.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The shape of a successful answer. */
export type Success =
  /** `{success: true, data: <schema>}` */
  | { readonly kind: 'data'; readonly status: number; readonly schema: z.ZodType }
  /** `{success: true, data: <schema>[], pagination}`, and the keys of `beside` next to them. */
  | { readonly kind: 'list'; readonly status: number; readonly schema: z.ZodType; readonly beside?: z.ZodObject }
  /** `{success: true, data: <schema>, pagination}`: an object whose arrays are one page. */
  | { readonly kind: 'page'; readonly status: number; readonly schema: z.ZodType }
  /** `{success: true, message}` */
  | { readonly kind: 'message'; readonly status: number }
  /** The schema itself, with no envelope. */
  | { readonly kind: 'bare'; readonly status: number; readonly schema: z.ZodType; readonly contentType?: string }
  /** A body written piece by piece, in one of `contentTypes`, as the caller requests. */
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly contentTypes: readonly string[];
      readonly schema?: z.ZodType;
    }
  /** A redirect by `Location`, without a body. */
  | { readonly kind: 'redirect'; readonly status: 302 };

/** One call of the public API, as data: enough to serve it, document it, call it and test it. */
export interface OperationSpec {
  /** The operationId: a verb and a noun, and the name of the client's method. */
  readonly id: string;
  readonly method: Method;
  /** The whole path with `{parameters}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly access: Access;
  /** The lowest plan that includes the call; below it FORBIDDEN. */
  readonly plan?: Plan;
  /** The handler itself checks for which of its requests the plan matters. */
  readonly planCheck?: 'handler';
  readonly params?: z.ZodObject;
  /** Unknown keys are ignored. */
  readonly query?: z.ZodObject;
  /** Unknown fields are refused. */
  readonly body?: z.ZodType;
  /** The body may be left out. */
  readonly bodyOptional?: boolean;
  readonly success: Success;
  /** Other successful answers of the same call, such as the 200 of a dry run. */
  readonly alternatives?: readonly Success[];
  /** The answer's `Location` is the address of the created or working resource. */
  readonly location?: boolean;
  /** Error codes beyond those of `commonErrors`. */
  readonly errors: readonly ErrorCode[];
  /** A single resource: ETag on its answers, `If-Match` honoured on PUT, PATCH and DELETE. */
  readonly etag?: boolean;
  /** `auth`: the stricter limit per address; `none`: never limited, for probes. Absent: the usual limit. */
  readonly rateLimit?: 'auth' | 'none';
  /**
   * The whole answer is a secret that is shown once: a replay says so instead. Clients send an idempotency key only on
   * request.
   */
  readonly secretAnswer?: true;
  /** Fields of `data` that are shown once: a replayed answer has null there. */
  readonly secretFields?: readonly string[];
  /** Every member may make the call about themselves, in any role: when this path parameter is their own id. */
  readonly selfParameter?: string;
  /** The path parameter that takes the rest of the path, slashes included. */
  readonly restParameter?: string;
  /** A page that people open in a browser: served, but not part of the API document. */
  readonly documented?: false;
  /** Planned: neither served nor documented until the feature exists. */
  readonly available?: false;
}

export interface Operation extends OperationSpec {
  /** Whether the call honours `Idempotency-Key`. */
  readonly idempotencyKey: boolean;
}

/** Public calls have no caller for whom an answer could be stored; signing out twice has no effect. */
function takesIdempotencyKey({ method, path, access }: OperationSpec): boolean {
  return method === 'POST' && access.kind !== 'public' && !path.startsWith('/api/v1/auth/');
}

/** Keeps the exact types of the schemas, so that handlers and client are typed by the operation. */
export function operation<const S extends OperationSpec>(spec: S): S & { readonly idempotencyKey: boolean } {
  return { ...spec, idempotencyKey: takesIdempotencyKey(spec) };
}

export const api = <const P extends string>(path: P) => `/api/v1${path}` as const;

export const ok = <S extends z.ZodType>(schema: S) => ({ kind: 'data', status: 200, schema }) as const;
export const created = <S extends z.ZodType>(schema: S) => ({ kind: 'data', status: 201, schema }) as const;
export const accepted = <S extends z.ZodType>(schema: S) => ({ kind: 'data', status: 202, schema }) as const;
export const list = <S extends z.ZodType>(schema: S) => ({ kind: 'list', status: 200, schema }) as const;
export const listWith = <S extends z.ZodType, B extends z.ZodObject>(schema: S, beside: B) =>
  ({ kind: 'list', status: 200, schema, beside }) as const;
export const page = <S extends z.ZodType>(schema: S) => ({ kind: 'page', status: 200, schema }) as const;
export const done = { kind: 'message', status: 200 } as const;

/** The codes that every call with this access, method and body can return; the operation lists only its own. */
export function commonErrors(operation: OperationSpec): readonly ErrorCode[] {
  const codes: ErrorCode[] = ['INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'];
  if (operation.rateLimit !== 'none') codes.push('RATE_LIMITED');
  if (operation.access.kind !== 'public') codes.push('UNAUTHORIZED', 'FORBIDDEN');
  if (operation.access.kind === 'organization') {
    codes.push('VALIDATION_ERROR', 'ORGANIZATION_NOT_FOUND');
    if (operation.access.role !== 'viewer') codes.push('PERMISSION_DENIED');
  }
  if (operation.query) codes.push('VALIDATION_ERROR');
  // An unexpected body is refused too.
  if (operation.method !== 'GET') codes.push('VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE');
  if (takesIdempotencyKey(operation)) {
    codes.push('VALIDATION_ERROR', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED');
  }
  // A resource without a version matches no `If-Match`, so the header is never ignored silently.
  if (['PUT', 'PATCH', 'DELETE'].includes(operation.method)) codes.push('PRECONDITION_FAILED');
  return [...new Set(codes)];
}

/** All codes that a call can return. */
export function errorsOf(operation: OperationSpec): readonly ErrorCode[] {
  return [...new Set([...commonErrors(operation), ...operation.errors])];
}

type SchemaOf<O, K extends string> = O extends { readonly [P in K]: infer S extends z.ZodType } ? S : never;
type OutputOr<S, Otherwise> = [S] extends [never] ? Otherwise : S extends z.ZodType ? z.output<S> : never;
type InputOr<S, Otherwise> = [S] extends [never] ? Otherwise : S extends z.ZodType ? z.input<S> : never;

/** What a handler receives, validated. */
export type ParamsOf<O> = OutputOr<SchemaOf<O, 'params'>, Record<never, never>>;
export type QueryOf<O> = OutputOr<SchemaOf<O, 'query'>, Record<never, never>>;
export type BodyOf<O> =
  | OutputOr<SchemaOf<O, 'body'>, undefined>
  | (O extends { readonly bodyOptional: true } ? undefined : never);

/** What a caller sends. */
export type ParamsInput<O> = InputOr<SchemaOf<O, 'params'>, undefined>;
export type QueryInput<O> = InputOr<SchemaOf<O, 'query'>, undefined>;
export type BodyInput<O> = InputOr<SchemaOf<O, 'body'>, undefined>;

type SuccessData<S> = S extends { readonly kind: 'list'; readonly schema: infer D extends z.ZodType }
  ? z.output<D>[]
  : S extends { readonly kind: 'data' | 'page' | 'bare'; readonly schema: infer D extends z.ZodType }
    ? z.output<D>
    : S extends { readonly kind: 'message' }
      ? string
      : never;

/** The `data` of a successful answer (of a bare one: the answer itself; of a message: its text). */
export type DataOf<O> =
  | (O extends { readonly success: infer S } ? SuccessData<S> : never)
  | (O extends { readonly alternatives: readonly (infer A)[] } ? SuccessData<A> : never);

/** Additional fields beside a list and its pagination. */
export type BesideOf<O> = O extends { readonly success: { readonly beside: infer B extends z.ZodObject } }
  ? z.output<B>
  : Record<never, never>;

/** One entry of a list. */
export type ItemOf<O> = O extends {
  readonly success: { readonly kind: 'list'; readonly schema: infer D extends z.ZodType };
}
  ? z.output<D>
  : never;
