import type { z } from 'zod';
import type { BesideOf, DataOf, ItemOf } from '../operation.ts';
import type { OperationId, Operations } from '../operations/index.ts';
import type { Pagination } from '../schemas/primitives.ts';
import type { CallInput } from './input.ts';
import type { Overloads } from './overloads.ts';
import type { HoldfastStream } from './streams.ts';

/** Every operation, including those that this service may not serve yet: it answers NOT_FOUND then. */
export type ServedId = OperationId;

type KindOf<O> = O extends { success: { kind: infer K } } ? K : never;
export type ListId = { [I in ServedId]: KindOf<Operations[I]> extends 'list' ? I : never }[ServedId];
export type PagedId = { [I in ServedId]: KindOf<Operations[I]> extends 'list' | 'page' ? I : never }[ServedId];

export interface Page<Data> {
  data: Data;
  pagination: Pagination;
}

type StreamItem<O> = O extends { success: { kind: 'stream'; schema: infer S extends z.ZodType } } ? z.output<S> : never;

/** What a call resolves to: the data without the envelope; a list keeps its pagination. */
export type Result<O> =
  KindOf<O> extends 'list' | 'page'
    ? Page<DataOf<O>> & BesideOf<O>
    : KindOf<O> extends 'stream'
      ? HoldfastStream<StreamItem<O>>
      : KindOf<O> extends 'redirect'
        ? string
        : DataOf<O>;

type Call<O> =
  Record<never, never> extends CallInput<O>
    ? (input?: CallInput<O>) => Promise<Result<O>>
    : (input: CallInput<O>) => Promise<Result<O>>;

/** The whole answer, for callers that need its ETag or Location. */
export interface Answer<O> {
  result: Result<O>;
  status: number;
  headers: Headers;
}

export type Calls = Overloads & { readonly [I in Exclude<ServedId, keyof Overloads>]: Call<Operations[I]> };

export interface Client extends Calls {
  /** A call by its id, with status and headers of the answer. */
  request<I extends ServedId>(id: I, input: CallInput<Operations[I]>): Promise<Answer<Operations[I]>>;
  /** Every entry of a list, page after page, fetched as needed. */
  paginate<I extends ListId>(id: I, input: CallInput<Operations[I]>): AsyncGenerator<ItemOf<Operations[I]>>;
  /** Every page of a list. */
  pages<I extends PagedId>(id: I, input: CallInput<Operations[I]>): AsyncGenerator<Result<Operations[I]>>;
}
