import { Link } from '@tanstack/react-router';
import { ChevronRight, LoaderCircle, Search } from 'lucide-react';
import { useRead } from '../api/calls.ts';
import { Exact } from '../components/exact.tsx';
import { Key } from '../components/key.tsx';
import { t } from '../texts/index.ts';
import { usePaths } from '../url.ts';
import { BasketButton } from './basket-button.tsx';
import type { Crumb } from './page-title.tsx';
import { OrganizationSwitcher } from './sidebar.tsx';

export function TopBar({ crumbs, onFind }: { crumbs: readonly Crumb[]; onFind: () => void }) {
  return (
    <header className="sticky top-0 z-30 flex h-[52px] items-center gap-3 border-line border-b bg-surface px-7 max-md:bg-bg max-md:px-3">
      <div className="min-w-0 flex-1 md:hidden">
        <OrganizationSwitcher />
      </div>
      <Crumbs crumbs={crumbs} />
      <div className="ml-auto flex items-center gap-3">
        <button
          type="button"
          onClick={onFind}
          aria-keyshortcuts="Control+K Meta+K"
          className="control flex w-[330px] items-center gap-2.5 text-left text-ink3! max-lg:w-auto max-md:size-11 max-md:border-transparent max-md:bg-transparent max-md:px-0 max-md:justify-center"
        >
          <Search size={16} aria-hidden className="shrink-0" />
          <span className="flex-1 truncate max-md:sr-only">{t.shell.palette.placeholder}</span>
          <span className="max-md:hidden">
            <Key>{navigator.platform.includes('Mac') ? '⌘ K' : 'Ctrl K'}</Key>
          </span>
        </button>
        <BasketButton />
        <RunningPill />
      </div>
    </header>
  );
}

function Crumbs({ crumbs }: { crumbs: readonly Crumb[] }) {
  return (
    <ol className="flex min-w-0 items-center gap-2 text-table max-md:hidden">
      {crumbs.map((crumb, index) => (
        <li key={`${index} ${crumb.label}`} className={`flex items-center gap-2 ${roomOf(index, crumbs.length)}`}>
          {index > 0 && <ChevronRight size={14} aria-hidden className="shrink-0 text-ink3" />}
          {crumb.to && index < crumbs.length - 1 ? (
            <Link to={crumb.to} className="truncate text-ink2 hover:underline">
              <Exact text={crumb.label} />
            </Link>
          ) : (
            <span className="truncate font-semibold" aria-current="page">
              <Exact text={crumb.label} />
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

/** The last crumb may be long; the ones before it stay readable. */
function roomOf(index: number, count: number): string {
  if (index === count - 1) return 'min-w-0';
  return index === 0 ? 'max-w-40 shrink-0' : 'min-w-12 max-w-80';
}

/** Running backups and restores. A preview changes nothing, so it is none. */
function useRunning() {
  const backups = useRead('listBackups', { query: { status: 'running', limit: 20 } });
  const restores = useRead('listRestores', { query: { status: 'running', dryRun: false, limit: 20 } });
  return { backups: backups.data?.data ?? [], restores: restores.data?.data ?? [] };
}

function RunningPill() {
  const paths = usePaths();
  const { backups, restores } = useRunning();
  const count = backups.length + restores.length;
  const [backup] = backups;
  const [restore] = restores;
  if (count === 0) return null;
  const to = restore ? paths.restore(restore.id) : count === 1 && backup ? paths.backup(backup.id) : paths.backups;
  return (
    <Link
      to={to}
      className="inline-flex h-8 items-center gap-2 rounded-control bg-move-weak px-3 font-medium text-move text-table"
    >
      <LoaderCircle size={15} aria-hidden className="turning" />
      <span className="max-md:sr-only">{t.shell.running(count)}</span>
      <span aria-hidden="true" className="md:hidden">
        {count}
      </span>
    </Link>
  );
}
