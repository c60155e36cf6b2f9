import type { Readable } from 'node:stream';
import type { CookieSerializeOptions } from '@fastify/cookie';
import type {
  BesideOf,
  BodyOf,
  DataOf,
  ItemOf,
  Operation,
  OperationId,
  Operations,
  ParamsOf,
  QueryOf,
} from '@holdfast/contract';
import type { OrganizationAccess, Principal, RequestOrigin } from '../platform/principal.ts';

/** Everything a handler may know about the request, validated. */
export interface Call<O> {
  readonly operation: Operation;
  readonly principal: AccessOf<O> extends 'public' ? Principal : Exclude<Principal, { kind: 'anonymous' }>;
  readonly organization: AccessOf<O> extends 'organization' ? OrganizationAccess : OrganizationAccess | null;
  readonly params: ParamsOf<O>;
  readonly query: QueryOf<O>;
  readonly body: BodyOf<O>;
  readonly origin: RequestOrigin;
  /** Whether the caller is on this machine, without a proxy in between. */
  readonly isFromThisMachine: boolean;
  /** Whether a browser navigates here, with a person who wants to see a page. */
  readonly isNavigation: boolean;
  /** The bearer token as sent, for public calls that check it themselves. */
  readonly bearer: string | undefined;
  readonly cookies: Readonly<Record<string, string | undefined>>;
  /** Throws FORBIDDEN unless one of our pages made the call; for public calls that use cookies. */
  requireOwnOrigin(): void;
  /** Aborted when the caller hangs up or the service shuts down; long answers end then. */
  readonly signal: AbortSignal;
  /** Throws PRECONDITION_FAILED when the caller's If-Match does not match this version. */
  requireMatch(etag: string): void;
}

type AccessOf<O> = O extends { readonly access: { readonly kind: infer K } } ? K : never;

export interface AnswerOptions {
  /** A replay answers with this instead of `data`, when all of `data` is secret. */
  replayed?: string;
  status?: number;
  location?: string;
  etag?: string;
  headers?: Record<string, string>;
  cookies?: { name: string; value: string; options: CookieSerializeOptions }[];
}

type SuccessKind<O> = O extends { readonly success: { readonly kind: infer K } } ? K : never;

/** What a handler returns, depending on its operation's kind of answer. */
export type Answer<O> = AnswerOptions & AnswerBody<SuccessKind<O>, O>;

type AnswerBody<K, O> = K extends 'data' | 'bare'
  ? { data: DataOf<O> }
  : K extends 'list'
    ? { data: ItemOf<O>[]; nextCursor: string | null; beside?: BesideOf<O> }
    : K extends 'page'
      ? { data: DataOf<O>; nextCursor: string | null }
      : K extends 'message'
        ? { message: string }
        : K extends 'stream'
          ? { stream: Readable; contentType: string }
          : { location: string };

export type Handler<O> = (call: Call<O>) => Promise<Answer<O>>;
export type Handlers = { readonly [Id in OperationId]?: Handler<Operations[Id]> };

/** The same shapes without the operation's types, for the pipeline that serves all operations. */
export type AnyCall = Omit<Call<Operation>, 'principal' | 'organization' | 'params' | 'query' | 'body'> & {
  readonly principal: Principal;
  readonly organization: OrganizationAccess | null;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
};
export type AnyAnswer = AnswerOptions & {
  data?: unknown;
  message?: string;
  nextCursor?: string | null;
  /** Additional fields beside a list and its pagination. */
  beside?: object;
  stream?: Readable;
  contentType?: string;
};
export type AnyHandler = (call: AnyCall) => Promise<AnyAnswer>;
