import { roleAtLeast } from '@holdfast/contract';
import { Link, useLocation } from '@tanstack/react-router';
import { Check, ChevronsUpDown, KeyRound, LogOut, Moon, Plus, Sun, UserRound } from 'lucide-react';
import { useWorkplace } from '../api/organization.tsx';
import { Avatar } from '../components/avatar.tsx';
import { Mark } from '../components/brand.tsx';
import { IconButton } from '../components/button.tsx';
import { Menu } from '../components/menu.tsx';
import { pathsOf } from '../paths.ts';
import { t } from '../texts/index.ts';
import { usePaths } from '../url.ts';
import type { Attention } from './attention.ts';
import { navigationOf, sectionOf } from './navigation.ts';
import { useSignOut } from './sign-out.ts';
import { toggleTheme, useIsDark } from './theme.ts';

interface SidebarProps {
  /** How many things of each page need attention. */
  badges: Readonly<Record<string, Attention>>;
  onShowKeys: () => void;
}

export function Sidebar({ badges, onShowKeys }: SidebarProps) {
  return (
    <div className="sticky top-0 flex h-dvh w-[216px] shrink-0 flex-col gap-3 overflow-y-auto border-line border-r bg-bg px-2.5 py-3 max-md:hidden">
      <OrganizationSwitcher />
      <Navigation badges={badges} />
      <div className="mt-auto">
        <PersonMenu onShowKeys={onShowKeys} />
      </div>
    </div>
  );
}

export function Navigation({ badges, onFollow }: { badges: SidebarProps['badges']; onFollow?: () => void }) {
  const { organization } = useWorkplace();
  const paths = usePaths();
  const { pathname } = useLocation();
  const section = sectionOf(pathname);
  return (
    <nav aria-label={t.shell.nav.label} className="flex flex-col gap-3">
      {navigationOf(paths).map((group) => (
        <div key={group.title ?? ''}>
          {group.title && <p className="px-2 pb-1 text-meta text-ink3">{group.title}</p>}
          <ul className="flex flex-col gap-0.5">
            {group.entries
              .filter(({ role }) => !role || roleAtLeast(organization.role, role))
              .map(({ id, label, to, icon: Icon }) => (
                <li key={id}>
                  <Link
                    to={id === section ? pathname : to}
                    activeOptions={{ exact: id === 'overview' || section !== null, includeSearch: false }}
                    {...(onFollow ? { onClick: onFollow } : {})}
                    className="group flex h-[30px] items-center gap-2.5 rounded-control border border-transparent px-2 text-table text-ink2 hover:bg-sunken aria-[current=page]:border-line aria-[current=page]:bg-surface aria-[current=page]:font-medium aria-[current=page]:text-ink max-md:h-11 max-md:text-body"
                  >
                    <Icon size={16} aria-hidden className="shrink-0 group-aria-[current=page]:text-held" />
                    {label}
                    <Wanting attention={badges[id]} />
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function Wanting({ attention }: { attention: Attention | undefined }) {
  if (!attention?.count) return null;
  const colour = attention.tone === 'fail' ? 'text-fail' : 'text-risk';
  return <span className={`ml-auto font-medium text-meta ${colour}`}>{attention.count}</span>;
}

export function OrganizationSwitcher() {
  const { organization, organizations } = useWorkplace();
  return (
    <Menu
      align="start"
      header={<p className="px-2.5 py-1.5 text-meta text-ink3">{t.shell.switcher.label}</p>}
      trigger={
        <button
          type="button"
          className="flex w-full items-center gap-2.5 rounded-control px-2 py-1.5 text-left hover:bg-sunken"
        >
          <Mark size={24} />
          <span className="min-w-0 flex-1">
            <span className="block truncate text-table font-semibold">{organization.name}</span>
            <span className="block text-meta text-ink3">{t.shell.projectCount(organization.projectCount)}</span>
          </span>
          <span className="sr-only">{t.shell.switcher.label}</span>
          <ChevronsUpDown size={14} aria-hidden className="shrink-0 text-ink3" />
        </button>
      }
      items={[
        ...organizations.map((other) => ({
          label: other.name,
          to: pathsOf(other.slug).overview,
          ...(other.id === organization.id ? { icon: Check } : {}),
        })),
        'line',
        { label: t.shell.switcher.create, icon: Plus, to: '/organizations/new' },
      ]}
    />
  );
}

export function PersonMenu({ onShowKeys }: { onShowKeys: () => void }) {
  const { me, organization } = useWorkplace();
  const dark = useIsDark();
  const paths = usePaths();
  const signOut = useSignOut();
  return (
    <div className="flex items-center gap-1">
      <Menu
        align="start"
        trigger={
          <button
            type="button"
            className="flex min-w-0 flex-1 items-center gap-2.5 rounded-control px-2 py-1.5 text-left hover:bg-sunken"
          >
            <Avatar name={me.name || me.email} />
            <span className="min-w-0">
              <span className="block truncate text-meta font-semibold">{me.name || me.email}</span>
              <span className="block text-meta text-ink3">{t.roles[organization.role]}</span>
            </span>
          </button>
        }
        items={[
          { label: t.shell.person.account, icon: UserRound, to: paths.account },
          { label: t.shell.person.help, icon: KeyRound, onSelect: onShowKeys },
          'line',
          { label: t.shell.person.signOut, icon: LogOut, onSelect: () => signOut.mutate() },
        ]}
      />
      <IconButton
        icon={dark ? Sun : Moon}
        label={dark ? t.shell.person.toLight : t.shell.person.toDark}
        onClick={toggleTheme}
      />
    </div>
  );
}
