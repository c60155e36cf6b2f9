import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type MouseEvent, memo, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { t } from '../texts/index.ts';
import { useGo } from '../url.ts';
import { Button } from './button.tsx';
import { useDrawnRows } from './drawn-rows.ts';
import { useRowKeys } from './row-keys.ts';
import { RowLink } from './row-link.tsx';
import { RowContext } from './time.tsx';
import { useIsPhone } from './use-is-phone.ts';

export interface Column<Row> {
  readonly id: string;
  readonly header: ReactNode;
  readonly cell: (row: Row, index: number) => ReactNode;
  readonly align?: 'right';
  /** This cell holds the link to what the row stands for. */
  readonly isLink?: boolean;
  /** Hidden below this width. */
  readonly from?: 'md' | 'lg' | 'xl' | '2xl';
  readonly className?: string;
}

interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  to?: ((row: Row) => string) | undefined;
  /** The two-line content of a row on a phone. */
  phone: (row: Row) => ReactNode;
  /** Shown below an opened row. */
  detail?: ((row: Row) => ReactNode | null) | undefined;
  tone?: ((row: Row) => string | undefined) | undefined;
  hasMore?: boolean;
  isLoadingMore?: boolean;
  loadMore?: () => void;
  foot?: ReactNode;
}

const rowHeightPx = 37;
const phoneRowHeightPx = 62;
const virtualFrom = 80;
const widths = { md: 'max-md:hidden', lg: 'max-lg:hidden', xl: 'max-xl:hidden', '2xl': 'max-2xl:hidden' } as const;

/** A table. Of a long list only visible rows are drawn; more are fetched near its end. */
export function DataTable<Row>(props: TableProps<Row>) {
  const { columns, rows, rowKey, to, label } = props;
  const isPhone = useIsPhone();
  const frame = useRef<HTMLDivElement>(null);
  const margin = useTop(frame);
  const isVirtual = rows.length > virtualFrom;
  const rowPx = isPhone ? phoneRowHeightPx : rowHeightPx;
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowPx,
    scrollMargin: margin,
    enabled: isVirtual,
    useFlushSync: false,
  });
  const inSight = isVirtual ? virtualizer.calculateRange() : { startIndex: 0, endIndex: rows.length - 1 };
  const drawn = useDrawnRows(inSight ? { first: inSight.startIndex, last: inSight.endIndex } : undefined, rows.length);
  const { first, last } = isVirtual ? drawn : { first: 0, last: rows.length - 1 };
  const before = first * rowPx;
  const after = (rows.length - 1 - last) * rowPx;
  useRowKeys(frame);
  useNearEnd(props, inSight?.endIndex ?? 0);
  const shown = rows.slice(first, last + 1).map((row, at) => ({ row, index: first + at }));
  return (
    <RowContext value={true}>
      <div ref={frame} className="overflow-hidden rounded-panel border border-line bg-surface md:overflow-x-auto">
        {isPhone ? (
          <ul aria-label={label}>
            {before > 0 && <li style={{ height: before }} />}
            {shown.map(({ row, index }) => (
              <li key={rowKey(row)} data-index={index} className="border-line border-b last:border-b-0">
                {to ? (
                  <RowLink to={to(row)} data-row="" className="block px-4 py-2.5">
                    {props.phone(row)}
                  </RowLink>
                ) : (
                  <div className="px-4 py-2.5">{props.phone(row)}</div>
                )}
                {props.detail?.(row)}
              </li>
            ))}
            {after > 0 && <li style={{ height: after }} />}
          </ul>
        ) : (
          <table className="w-full border-collapse text-table" aria-label={label} aria-rowcount={rows.length + 1}>
            <thead>
              <tr className="border-line border-b text-left text-meta text-ink2">
                {columns.map((column) => (
                  <th
                    key={column.id}
                    scope="col"
                    className={`h-9 px-2 font-medium whitespace-nowrap first:pl-4 last:pr-4 ${column.align === 'right' ? 'text-right' : ''} ${column.from ? widths[column.from] : ''}`}
                  >
                    {column.header || <span className="sr-only">{t.common.moreActions}</span>}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {before > 0 && <tr style={{ height: before }} />}
              {shown.map(({ row, index }) => (
                <Rows
                  key={rowKey(row)}
                  columns={columns}
                  to={to}
                  detail={props.detail}
                  tone={props.tone}
                  row={row}
                  index={index}
                />
              ))}
              {after > 0 && <tr style={{ height: after }} />}
            </tbody>
          </table>
        )}
        {props.hasMore && props.loadMore && (
          <div className="flex justify-center border-line border-t p-2">
            <Button kind="quiet" busy={props.isLoadingMore ?? false} onClick={props.loadMore}>
              {t.common.loadMore}
            </Button>
          </div>
        )}
        {props.foot}
      </div>
    </RowContext>
  );
}

interface RowsProps<Row> extends Pick<TableProps<Row>, 'columns' | 'to' | 'detail' | 'tone'> {
  row: Row;
  index: number;
}

function RowsOnce<Row>({ columns, row, index, to, detail, tone }: RowsProps<Row>) {
  const go = useGo();
  const below = detail?.(row);
  const onClick = (event: MouseEvent) => {
    const target = event.target as HTMLElement;
    if (
      !to ||
      target.closest('a, button, input, select, label, time, dialog, [role=menu]') ||
      window.getSelection()?.toString()
    )
      return;
    go(to(row));
  };
  return (
    <>
      <tr
        aria-rowindex={index + 2}
        onClick={onClick}
        className={`h-[37px] border-line border-b last:border-b-0 has-[[data-row]:focus-visible]:bg-held-weak has-[[data-row]:focus-visible]:outline-2 has-[[data-row]:focus-visible]:outline-held has-[[data-row]:focus-visible]:-outline-offset-2 ${to ? 'cursor-pointer hover:bg-bg' : ''} ${tone?.(row) ?? ''}`}
      >
        {columns.map((column) => (
          <td
            key={column.id}
            className={`px-2 py-1 first:pl-4 last:pr-4 ${column.align === 'right' ? 'text-right whitespace-nowrap' : ''} ${column.from ? widths[column.from] : ''} ${column.className ?? ''}`}
          >
            {column.isLink && to ? (
              <RowLink to={to(row)} data-row="" className="rounded-tag hover:underline">
                {column.cell(row, index)}
              </RowLink>
            ) : (
              column.cell(row, index)
            )}
          </td>
        ))}
      </tr>
      {below && (
        <tr className="border-line border-b bg-bg last:border-b-0">
          <td colSpan={columns.length} className="p-0">
            <RowContext value={false}>{below}</RowContext>
          </td>
        </tr>
      )}
    </>
  );
}

/** Rows that stay in sight while one scrolls are not drawn again. */
const Rows = memo(RowsOnce) as typeof RowsOnce;

function useNearEnd<Row>({ rows, hasMore, isLoadingMore, loadMore }: TableProps<Row>, lastShown: number): void {
  const isNear = rows.length > virtualFrom && lastShown > rows.length - 40;
  useEffect(() => {
    if (isNear && hasMore && !isLoadingMore) loadMore?.();
  }, [isNear, hasMore, isLoadingMore, loadMore]);
}

function useTop(frame: React.RefObject<HTMLDivElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element) setTop(element.getBoundingClientRect().top + window.scrollY + rowHeightPx);
  }, [frame]);
  return top;
}
