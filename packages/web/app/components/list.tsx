import type { HoldfastError } from '@holdfast/contract/client';
import type { ReactNode } from 'react';
import { NoPermission, Problem, Skeleton } from './states.tsx';

interface ListProps<Row> {
  list: { rows: readonly Row[] | undefined; error: HoldfastError | null; retry?: () => void; refetch?: () => unknown };
  empty: ReactNode;
  /** Shown instead of `empty` while filters are set. */
  filteredEmpty?: ReactNode;
  forbidden?: { title: string; text: string };
  children: (rows: readonly Row[]) => ReactNode;
}

/** The five states of a list: rows, empty, loading, error, not allowed. Old rows stay while new ones load. */
export function List<Row>({ list, empty, filteredEmpty, forbidden, children }: ListProps<Row>) {
  const { rows, error } = list;
  if (rows === undefined && error) {
    const isForbidden = error.code === 'PERMISSION_DENIED' || error.code === 'FORBIDDEN';
    return (
      <Box>
        {isForbidden && forbidden ? (
          <NoPermission title={forbidden.title}>{forbidden.text}</NoPermission>
        ) : (
          <Problem error={error} onRetry={list.retry ?? (() => void list.refetch?.())} />
        )}
      </Box>
    );
  }
  if (rows === undefined)
    return (
      <Box>
        <Skeleton />
      </Box>
    );
  if (rows.length === 0) return <Box>{filteredEmpty || empty}</Box>;
  return children(rows);
}

export function Box({ children }: { children: ReactNode }) {
  return <div className="rounded-panel border border-line bg-surface">{children}</div>;
}
