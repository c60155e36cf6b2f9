import type { ItemOf, OperationId, Operations } from '@holdfast/contract';
import type { CallInput, HoldfastError, Page, Result } from '@holdfast/contract/client';
import { type UseQueryResult, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { clientFor } from './client.ts';
import { useLastingError } from './lasting-error.ts';
import { useOrganizationId } from './organization.tsx';
import { isShort, refetchMs } from './refetch-interval.ts';

/** Every call of the contract, also those this service does not serve yet: they answer NOT_FOUND. */
export type CallId = OperationId;
type Input<I extends CallId> = CallInput<Operations[I]>;
export type Answered<I extends CallId> = Result<Operations[I]>;
type ListId = { [I in CallId]: Operations[I] extends { success: { kind: 'list' } } ? I : never }[CallId];

export interface ReadOptions {
  enabled?: boolean;
  /** Absent: refetch while the page is visible, less often while the stream of changes is connected. False: read once. */
  everyMs?: number | false;
}

/** Whether this service does not have the call at all; then a page shows less. */
export function isUnserved(error: HoldfastError | null): boolean {
  return error?.code === 'NOT_FOUND' && error.message.startsWith('There is nothing at');
}

function callOf<I extends CallId>(organizationId: string | undefined, id: I) {
  const { request } = clientFor(organizationId);
  return async (input: unknown) => (await request(id as never, input as never)).result as Answered<I>;
}

export function keyOf(organizationId: string | undefined, id: CallId, input: unknown): readonly unknown[] {
  return [organizationId ?? 'person', id, input];
}

interface Asked {
  params?: object;
  query?: { projectId?: string; document?: string; at?: string };
}

/** What a call is about, without its filters. */
const subjectOf = ({ params, query: { projectId, document, at } = {} }: Asked = {}) =>
  JSON.stringify([params, projectId, document, at]);

/** The previous answer stays until the next arrives, but only if it is about the same thing. */
function isOfSame(former: readonly unknown[] | undefined, input: unknown): boolean {
  return former !== undefined && subjectOf(former[2] as Asked) === subjectOf(input as Asked);
}

/** Reads one answer and refetches it. */
export function useRead<I extends CallId>(
  id: I,
  input: Input<I>,
  options: ReadOptions = {},
): UseQueryResult<Answered<I>, HoldfastError> {
  const organizationId = useOrganizationId();
  const queryKey = keyOf(organizationId, id, input);
  const result = useQuery<Answered<I>, HoldfastError>({
    queryKey,
    queryFn: ({ signal }) => callOf(organizationId, id)({ ...input, signal }),
    enabled: options.enabled ?? true,
    refetchInterval: () => options.everyMs ?? refetchMs(),
    placeholderData: (former, query) => (isOfSame(query?.queryKey, input) ? former : undefined),
  });
  const { error, forget } = useLastingError(queryKey, result);
  if (error === null) return result;
  const data = isWithdrawn(error) ? undefined : result.data;
  return { ...result, data, error, refetch: again(forget, result.refetch) } as typeof result;
}

/** A retry by hand. */
const again =
  <Answer>(forget: () => void, refetch: () => Answer) =>
  () => {
    forget();
    return refetch();
  };

/** An old answer stays while the service is away, but not after 404 or 403. */
const isWithdrawn = (error: HoldfastError | null) => error?.status === 404 || error?.status === 403;

/** Reads a list page by page. */
export function useList<I extends ListId>(id: I, input: Input<I>, options: ReadOptions = {}) {
  const organizationId = useOrganizationId();
  const given = input as { query?: Record<string, unknown> };
  const queryKey = [...keyOf(organizationId, id, input), 'pages'];
  const result = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      callOf(
        organizationId,
        id,
      )({
        ...input,
        query: { ...given.query, ...(pageParam === undefined ? {} : { cursor: pageParam }) },
        signal,
      }) as Promise<Page<ItemOf<Operations[I]>[]>>,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.pagination.nextCursor ?? undefined,
    enabled: options.enabled ?? true,
    // Every page of a long list would be a call of its own.
    refetchInterval: (query) => isShort(query) && (options.everyMs ?? refetchMs()),
    refetchOnWindowFocus: (query) => isShort(query),
    placeholderData: (former, query) => (isOfSame(query?.queryKey, input) ? former : undefined),
  });
  const rows = useMemo(() => result.data?.pages.flatMap((page) => page.data), [result.data]);
  const { data, error: met } = result;
  const { error, forget } = useLastingError(queryKey, { data, error: met as HoldfastError | null });
  return {
    rows,
    /** Whole pages, with the fields beside their rows. */
    pages: result.data?.pages as readonly Answered<I>[] | undefined,
    error,
    isLoading: result.isLoading,
    isStale: result.isPlaceholderData,
    hasMore: result.hasNextPage,
    isLoadingMore: result.isFetchingNextPage,
    loadMore: () => {
      if (!result.isFetchingNextPage) void result.fetchNextPage();
    },
    retry: () => void again(forget, result.refetch)(),
  };
}

/** Longer lists are not read to their end; they belong on a page that loads more while it scrolls. */
const entriesMax = 2000;
const entriesPerCall = 200;

/** Reads all pages of a list that is usually short: projects, destinations, members. Honours a given limit. */
export function useAll<I extends ListId>(id: I, input: Input<I>, options: ReadOptions = {}) {
  const organizationId = useOrganizationId();
  const { query } = input as { query?: { limit?: number } };
  const queryKey = [...keyOf(organizationId, id, input), 'all'];
  const result = useQuery<readonly ItemOf<Operations[I]>[], HoldfastError>({
    queryKey,
    queryFn: async ({ signal }) => {
      const rows: ItemOf<Operations[I]>[] = [];
      const wanted = query?.limit ?? entriesMax;
      for (let cursor: string | undefined; ; ) {
        const limit = Math.min(entriesPerCall, wanted);
        const asked = { ...input, query: { ...query, limit, ...(cursor === undefined ? {} : { cursor }) }, signal };
        const page = (await callOf(organizationId, id)(asked)) as Page<ItemOf<Operations[I]>[]>;
        rows.push(...page.data);
        cursor = page.pagination.nextCursor ?? undefined;
        if (cursor === undefined || rows.length >= wanted) return rows;
      }
    },
    enabled: options.enabled ?? true,
    refetchInterval: () => options.everyMs ?? refetchMs(),
    placeholderData: (former, query) => (isOfSame(query?.queryKey, input) ? former : undefined),
  });
  const { error, forget } = useLastingError(queryKey, result);
  return { ...result, error, rows: result.data, refetch: again(forget, result.refetch) };
}

/** Reads all pages of a slow list; rows appear as their pages arrive. */
export function useGrowing<I extends ListId>(id: I, input: Input<I>, options: Pick<ReadOptions, 'enabled'> = {}) {
  const { query } = input as { query?: object };
  const asked = { ...input, query: { ...query, limit: entriesPerCall } } as Input<I>;
  const list = useList(id, asked, { ...options, everyMs: false });
  const { rows, error, hasMore, isLoadingMore, loadMore } = list;
  const isGrowing = hasMore && error === null && (rows?.length ?? 0) < entriesMax;
  useEffect(() => {
    if (isGrowing && !isLoadingMore) loadMore();
  });
  // A retry keeps the pages that were read and asks for the missing one.
  return { ...list, isGrowing, retry: rows ? loadMore : list.retry };
}

interface ActOptions<I extends CallId> {
  /** If it returns a promise, the action stays pending until it settles, and fails with it. */
  onDone?: (answer: Answered<I>, input: Input<I>) => unknown;
}

/** Sends a change; afterwards all reads are refetched. */
export function useAct<I extends CallId>(id: I, options: ActOptions<I> = {}) {
  const organizationId = useOrganizationId();
  const queries = useQueryClient();
  const underWay = useRef(new Set<string>());
  const mutation = useMutation<Answered<I>, HoldfastError, Input<I>>({
    mutationFn: (input) => callOf(organizationId, id)(input),
    onSuccess: async (answer, input) => {
      void queries.invalidateQueries();
      await options.onDone?.(answer, input);
    },
    onSettled: (_answer, _error, input) => void underWay.current.delete(JSON.stringify(input)),
  });
  const { mutate: send } = mutation;
  // Ignores a double click: the second click comes before the button is drawn as busy.
  const mutate = useCallback(
    (...given: Parameters<typeof send>) => {
      const key = JSON.stringify(given[0]);
      if (underWay.current.has(key)) return;
      underWay.current.add(key);
      send(...given);
    },
    [send],
  );
  return { ...mutation, mutate };
}
