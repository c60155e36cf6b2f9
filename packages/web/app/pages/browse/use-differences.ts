import type { DataOf, Operations } from '@holdfast/contract';
import type { Page as AnswerPage, HoldfastError } from '@holdfast/contract/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { keyOf } from '../../api/calls.ts';
import { clientFor } from '../../api/client.ts';
import { useWorkplace } from '../../api/organization.tsx';
import { isShort } from '../../api/refetch-interval.ts';

type Diff = DataOf<Operations['diffBackup']>;

const perPage = 100;
/** Small pages, so that the progress is visible. */
const pageSeconds = 3;

/** Reads page after page until there is a screenful of differences or the end. */
export function useDifferences(backupId: string, against: string, collection: string | undefined) {
  const { organization } = useWorkplace();
  const [wanted, setWanted] = useState(perPage);
  const query = { against, limit: perPage, seconds: pageSeconds, ...(collection ? { collection } : {}) };
  const input = { params: { backupId }, query };
  const diff = useInfiniteQuery<AnswerPage<Diff>, HoldfastError>({
    queryKey: keyOf(organization.id, 'diffBackup', input),
    queryFn: ({ pageParam, signal }) =>
      clientFor(organization.id).diffBackup({
        ...input,
        query: { ...input.query, ...(pageParam ? { cursor: pageParam as string } : {}) },
        signal,
      }),
    initialPageParam: undefined,
    getNextPageParam: (last) => last.pagination.nextCursor ?? undefined,
    staleTime: 30_000,
    // Kept for when the person comes back: every page reads the database again, at the customer's cost.
    refetchOnWindowFocus: isShort,
    refetchOnMount: isShort,
  });
  const pages = diff.data?.pages.map(({ data }) => data) ?? [];
  const [added, removed] = [pages.flatMap((page) => page.added), pages.flatMap((page) => page.removed)];
  const changed = pages.flatMap((page) => page.changed);
  const total = added.length + removed.length + changed.length;
  const goesOn = diff.hasNextPage && total < wanted && diff.error === null;
  const { isFetching, fetchNextPage } = diff;
  useEffect(() => {
    if (goesOn && !isFetching) void fetchNextPage();
  }, [goesOn, isFetching, fetchNextPage]);
  return {
    added,
    removed,
    changed,
    total,
    compared: pages.reduce((sum, page) => sum + page.compared, 0),
    hasMore: diff.hasNextPage,
    isComparing: diff.isPending || goesOn || diff.isFetchingNextPage,
    error: diff.error,
    stop: () => setWanted(total),
    goOn: () => setWanted(total + perPage),
    retry: () => void (diff.data ? diff.fetchNextPage() : diff.refetch()),
  };
}
