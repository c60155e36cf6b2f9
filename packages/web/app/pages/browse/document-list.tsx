import type { Backup } from '@holdfast/contract';
import { useVirtualizer } from '@tanstack/react-virtual';
import { RotateCcw, Search } from 'lucide-react';
import { memo, useEffect, useRef, useState } from 'react';
import { useList } from '../../api/calls.ts';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { useDrawnRows } from '../../components/drawn-rows.ts';
import { Exact } from '../../components/exact.tsx';
import { Checkbox } from '../../components/field.tsx';
import { Key } from '../../components/key.tsx';
import { useRowKeys } from '../../components/row-keys.ts';
import { RowLink } from '../../components/row-link.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { useIsPhone } from '../../components/use-is-phone.ts';
import { useBasket } from '../../shell/basket.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { RestoreSelected } from './restore-selected.tsx';

const rowHeightPx = 30;
const phoneRowHeightPx = 44;

interface DocumentListProps {
  backup: Backup;
  collection: string;
  document: string | null;
  moment: string;
}

/** The documents of a collection, filtered by prefix. Of many, only visible rows are drawn. */
export function DocumentList({ backup, collection, document, moment }: DocumentListProps) {
  const [prefix, setPrefix] = useState('');
  const [inValues, setInValues] = useState(false);
  const settled = useSettled(prefix);
  const wanted = inValues ? { search: settled } : { prefix: settled };
  const [from, setFrom] = useState<string>();
  const part = settled ? wanted : from ? { from } : {};
  const list = useList(
    'listBackupDocuments',
    { params: { backupId: backup.id }, query: { collection, limit: 200, ...part } },
    { everyMs: false },
  );
  const far = settled || list.isStale ? undefined : farFrom(list, document);
  const [leftBehind, setLeftBehind] = useState<string>();
  // A shared link may point far into a long list.
  useEffect(() => {
    if (far && far !== leftBehind) setFrom(far);
  }, [far, leftBehind]);
  const toBeginning = () => {
    setLeftBehind(document ?? undefined);
    setFrom(undefined);
  };
  const paths = usePaths();
  const canRestore = useCan('member');
  // A document may lack a subcollection that its siblings have.
  const isEmpty = list.error?.code === 'COLLECTION_NOT_FOUND';
  return (
    <div className="flex h-[calc(100dvh-52px-var(--kit-bar-height,0px))] flex-col max-md:h-[calc(100dvh-164px-var(--kit-bar-height,0px))]">
      <div className="flex flex-col gap-2 border-line border-b p-3">
        <h2 className="truncate font-mono text-table font-medium">{collection}</h2>
        <label className="control flex items-center gap-2">
          <Search size={15} aria-hidden className="shrink-0 text-ink3" />
          <span className="sr-only">{t.browse.search}</span>
          <input
            data-filter=""
            value={prefix}
            placeholder={t.browse.search}
            onChange={(event) => setPrefix(event.target.value)}
            spellCheck={false}
            className="min-w-0 flex-1 bg-transparent font-mono outline-none"
          />
        </label>
        <Checkbox
          label={t.browse.inValues}
          checked={inValues}
          onChange={(event) => setInValues(event.target.checked)}
        />
        <RestoreSelected projectId={backup.projectId} />
        {canRestore && !isEmpty && (
          <LinkButton icon={RotateCcw} to={paths.newRestore({ backupId: backup.id, collections: collection })}>
            {t.browse.restoreCollection}
          </LinkButton>
        )}
      </div>
      {list.error && !isEmpty && <Problem error={list.error} onRetry={list.retry} />}
      {isEmpty && <p className="p-4 text-table text-ink2">{t.browse.nothingIn}</p>}
      {list.isLoading && <Skeleton />}
      {list.rows?.length === 0 && !list.hasMore && <p className="p-4 text-table text-ink2">{t.browse.noDocuments}</p>}
      {list.rows && list.rows.length < 60 && list.hasMore && (
        <div className="flex items-center gap-3 border-line border-b px-4 py-2 text-ink2 text-table">
          {t.browse.notAllSearched}
          <Button busy={list.isLoadingMore} onClick={list.loadMore}>
            {t.browse.searchOn}
          </Button>
        </div>
      )}
      {from && !settled && (
        <button
          type="button"
          onClick={toBeginning}
          className="touch border-line border-b px-4 py-2 text-left font-medium text-held text-table hover:underline"
        >
          {t.browse.fromBeginning}
        </button>
      )}
      {list.rows && list.rows.length > 0 && (
        <Rows
          backup={backup}
          rows={list.rows}
          document={document}
          moment={moment}
          hasMore={list.hasMore}
          loadMore={list.loadMore}
        />
      )}
      <p className="flex items-center gap-1 border-line border-t px-3 py-2 text-meta text-ink3 max-md:hidden">
        <Key>J</Key> <Key>K</Key> {t.browse.keys.move}{' '}
        {canRestore && (
          <>
            <Key>X</Key> {t.browse.keys.tick}{' '}
          </>
        )}
        <Key>Enter</Key> {t.browse.keys.open}
      </p>
    </div>
  );
}

/** The open document, if it is not loaded yet. */
function farFrom(list: { rows: readonly { path: string }[] | undefined; hasMore: boolean }, document: string | null) {
  const isFar = document !== null && list.hasMore && list.rows?.every(({ path }) => path !== document);
  return isFar ? document : undefined;
}

interface RowsProps {
  backup: Backup;
  rows: readonly { path: string }[];
  document: string | null;
  moment: string;
  hasMore: boolean;
  loadMore: () => void;
}

function Rows({ backup, rows, document, moment, hasMore, loadMore }: RowsProps) {
  const frame = useRef<HTMLDivElement>(null);
  const paths = usePaths();
  const { has, toggle } = useBasket(useWorkplace().organization.id);
  const canRestore = useCan('member');
  useRowKeys(frame);
  const rowPx = useIsPhone() ? phoneRowHeightPx : rowHeightPx;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowPx,
    useFlushSync: false,
  });
  const inSight = virtualizer.calculateRange();
  const { first, last } = useDrawnRows(
    inSight ? { first: inSight.startIndex, last: inSight.endIndex } : undefined,
    rows.length,
  );
  useSeenAtFirst(frame, rowPx, document, rows);
  const lastSeen = inSight?.endIndex ?? 0;
  useEffect(() => {
    if (hasMore && rows.length >= 60 && lastSeen > rows.length - 60) loadMore();
  }, [hasMore, lastSeen, rows.length, loadMore]);
  return (
    <nav ref={frame} aria-label={t.browse.documents} className="flex-1 overflow-y-auto p-2">
      <ul style={{ paddingTop: first * rowPx, paddingBottom: (rows.length - 1 - last) * rowPx }}>
        {rows.slice(first, last + 1).map(({ path }) => {
          const item = { path, backupId: backup.id, from: moment };
          return (
            <Row
              key={path}
              path={path}
              to={paths.browse(backup.id, path)}
              isOpen={path === document}
              isPicked={canRestore ? has(item) : undefined}
              onPick={() => toggle(backup.projectId, item)}
            />
          );
        })}
      </ul>
    </nav>
  );
}

/** Scrolls to a document opened by its address; one chosen in the list stays where it is. */
function useSeenAtFirst(
  frame: React.RefObject<HTMLElement | null>,
  rowPx: number,
  document: string | null,
  rows: readonly { path: string }[],
): void {
  const seen = useRef<string | null>(null);
  useEffect(() => {
    const index = rows.findIndex(({ path }) => path === document);
    if (index < 0 || seen.current === document || !frame.current) return;
    seen.current = document;
    const { clientHeight, scrollTop } = frame.current;
    const isInSight = index * rowPx >= scrollTop && (index + 1) * rowPx <= scrollTop + clientHeight;
    if (!isInSight) frame.current.scrollTop = (index + 0.5) * rowPx - clientHeight / 2;
  }, [frame, rowPx, document, rows]);
}

interface RowProps {
  path: string;
  to: string;
  isOpen: boolean;
  /** Undefined if the person may not restore. */
  isPicked: boolean | undefined;
  onPick: () => void;
}

/**
 * Rendered again only when its own props change. It has no inline style: a browser computes a style it has not seen before
 * several times slower.
 */
const Row = memo(
  ({ path, to, isOpen, isPicked, onPick }: RowProps) => (
    <li className="flex h-[30px] items-center gap-1 rounded-tag has-[[data-row]:focus-visible]:bg-held-weak max-sm:h-11">
      {isPicked !== undefined && (
        <input
          type="checkbox"
          aria-label={`${t.browse.pick}: ${path}`}
          checked={isPicked}
          onChange={onPick}
          className="size-3.5 shrink-0 accent-held max-sm:size-5"
        />
      )}
      <RowLink
        to={to}
        data-row=""
        aria-current={isOpen ? 'true' : undefined}
        className={`block min-w-0 flex-1 truncate rounded-tag px-2 font-mono text-table leading-[30px] max-sm:leading-[44px] ${isOpen ? 'bg-held-weak font-medium' : 'text-ink2 hover:bg-bg'}`}
      >
        <Exact text={path.split('/').at(-1) ?? ''} />
      </RowLink>
    </li>
  ),
  (former, next) => former.to === next.to && former.isOpen === next.isOpen && former.isPicked === next.isPicked,
);

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
