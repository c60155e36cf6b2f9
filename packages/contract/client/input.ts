import type { BodyInput, ParamsInput, QueryInput } from '../operation.ts';

export interface CallOptions {
  /** Works in this organization instead of the client's own. */
  organizationId?: string;
  /** Absent on a POST: a new one, so that a call that is repeated after 429 or 503 acts once. */
  idempotencyKey?: string;
  /** Change only if the resource still has this ETag. */
  ifMatch?: string;
  signal?: AbortSignal;
}

/** Absent when the operation takes nothing, optional when everything in it is. */
type Part<Name extends string, Value> = [Value] extends [undefined]
  ? unknown
  : Record<never, never> extends Value
    ? { [N in Name]?: Value }
    : { [N in Name]: Value };

type BodyPart<O> = O extends { bodyOptional: true } ? { body?: BodyInput<O> } : Part<'body', BodyInput<O>>;

export type CallInput<O> = CallOptions & Part<'params', ParamsInput<O>> & Part<'query', QueryInput<O>> & BodyPart<O>;
