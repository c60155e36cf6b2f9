import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { Archive, FileSearch, LayoutDashboard, Menu as MenuIcon, RotateCcw } from 'lucide-react';
import { Suspense, useEffect, useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { lateOverlay } from '../late.tsx';
import { t } from '../texts/index.ts';
import { useGo, usePaths } from '../url.ts';
import { useAttention } from './attention.ts';
import { useFocusAfterNavigation } from './focus-page.ts';
import { useKeys } from './keys.ts';
import { navigationOf, sectionOf } from './navigation.ts';
import { type Crumb, CrumbsContext } from './page-title.tsx';
import { RecoveryKitBar } from './recovery-kit-bar.tsx';
import { Navigation, PersonMenu, Sidebar } from './sidebar.tsx';
import { TopBar } from './topbar.tsx';
import { collectTyped, takeTyped } from './typed-ahead.ts';

/** Not part of the first load, but fetched right after it. */
const loadPalette = () => import('./palette.tsx');
const Palette = lateOverlay(async () => (await loadPalette()).Palette);
const KeysDialog = lateOverlay(async () => (await import('./keys-dialog.tsx')).KeysDialog);

type Overlay = 'palette' | 'keys' | 'more' | null;

/** The left bar, the top bar, the keys, and the page in the middle. */
export function Shell() {
  const [crumbs, setCrumbs] = useState<readonly Crumb[]>([]);
  const [overlay, setOverlay] = useState<Overlay>(null);
  const badges = useAttention();
  const close = () => setOverlay(null);
  const openPalette = () => {
    if (overlay === 'palette') return;
    collectTyped();
    setOverlay('palette');
    loadPalette().catch(takeTyped);
  };
  useShellKeys({ openPalette, showKeys: () => setOverlay('keys') });
  useFocusAfterNavigation();
  useEffect(() => void loadPalette().catch(() => undefined), []);
  return (
    <CrumbsContext value={setCrumbs}>
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-control focus:bg-ink focus:px-3 focus:py-2 focus:text-on-ink"
      >
        {t.common.skipToContent}
      </a>
      <div className="flex min-h-dvh">
        <Sidebar badges={badges} onShowKeys={() => setOverlay('keys')} />
        <div className="flex min-w-0 flex-1 flex-col max-md:pb-[68px]">
          <TopBar crumbs={crumbs} onFind={openPalette} />
          <RecoveryKitBar />
          <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col outline-none">
            <Outlet />
          </main>
        </div>
      </div>
      <BottomBar onMore={() => setOverlay('more')} />
      <Suspense fallback={null}>
        {overlay === 'palette' && <Palette onClose={close} />}
        {overlay === 'keys' && <KeysDialog onClose={close} />}
      </Suspense>
      {overlay === 'more' && (
        <Dialog title={t.shell.nav.more} onClose={close}>
          <Navigation badges={badges} onFollow={close} />
          <PersonMenu onShowKeys={() => setOverlay('keys')} />
        </Dialog>
      )}
    </CrumbsContext>
  );
}

function useShellKeys({ openPalette, showKeys }: Record<'openPalette' | 'showKeys', () => void>): void {
  const go = useGo();
  const entries = navigationOf(usePaths()).flatMap((group) => group.entries);
  useKeys({
    '?': showKeys,
    '/': () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
    ...Object.fromEntries(entries.filter(({ key }) => key).map(({ key, to }) => [`g ${key}`, () => go(to)])),
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      openPalette();
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  });
}

function BottomBar({ onMore }: { onMore: () => void }) {
  const paths = usePaths();
  const { nav } = t.shell;
  const { pathname } = useLocation();
  const isFound = sectionOf(pathname) === 'find';
  const entries = [
    { label: nav.overview, to: paths.overview, icon: LayoutDashboard },
    { label: nav.backups, to: paths.backups, icon: Archive },
    { label: nav.findShort, to: isFound ? pathname : paths.find(), icon: FileSearch },
    { label: nav.restores, to: paths.restores, icon: RotateCcw },
  ];
  const look =
    'flex min-w-0 flex-1 flex-col items-center gap-1 px-0.5 py-2 text-meta text-ink2 aria-[current=page]:text-held';
  return (
    <nav
      aria-label={nav.label}
      className="fixed inset-x-0 bottom-0 z-30 flex border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {entries.map(({ label, to, icon: Icon }, index) => (
        <Link key={label} to={to} activeOptions={{ exact: index === 0, includeSearch: false }} className={look}>
          <Icon size={20} aria-hidden />
          <span className="max-w-full truncate">{label}</span>
        </Link>
      ))}
      <button type="button" onClick={onMore} className={look}>
        <MenuIcon size={20} aria-hidden />
        <span className="max-w-full truncate">{nav.more}</span>
      </button>
    </nav>
  );
}
