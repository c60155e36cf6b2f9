import type { Role } from '@holdfast/contract';
import {
  Archive,
  CalendarClock,
  Database,
  FileSearch,
  HardDrive,
  History,
  LayoutDashboard,
  type LucideIcon,
  RotateCcw,
  ScrollText,
  Settings,
  Users,
  Webhook,
} from 'lucide-react';
import type { Paths } from '../paths.ts';
import { t } from '../texts/index.ts';

export interface NavigationEntry {
  readonly id: string;
  readonly label: string;
  readonly to: string;
  readonly icon: LucideIcon;
  /** The key to press after `g`. */
  readonly key?: string;
  /** The least role that may open the page; others do not see the entry. */
  readonly role?: Role;
}

export interface NavigationGroup {
  readonly title: string | null;
  readonly entries: readonly NavigationEntry[];
}

/** Pages below a project that belong to another entry of the bar. */
export function sectionOf(pathname: string): string | null {
  const below = /\/projects\/[^/]+\/(time|documents)\b/.exec(pathname)?.[1];
  return below === undefined ? null : below === 'time' ? 'time' : 'find';
}

/** The entries of the left bar, the palette and the keys. */
export function navigationOf(paths: Paths): readonly NavigationGroup[] {
  const { nav } = t.shell;
  return [
    {
      title: null,
      entries: [{ id: 'overview', label: nav.overview, to: paths.overview, icon: LayoutDashboard, key: 'o' }],
    },
    {
      title: nav.protect,
      entries: [
        { id: 'projects', label: nav.projects, to: paths.projects, icon: Database, key: 'p' },
        { id: 'backups', label: nav.backups, to: paths.backups, icon: Archive, key: 'b' },
        { id: 'schedules', label: nav.schedules, to: paths.schedules, icon: CalendarClock, key: 's' },
        { id: 'storage', label: nav.storage, to: paths.storage, icon: HardDrive, key: 'd' },
      ],
    },
    {
      title: nav.recover,
      entries: [
        { id: 'find', label: nav.find, to: paths.find(), icon: FileSearch, key: 'f' },
        { id: 'time', label: nav.time, to: paths.time(), icon: History, key: 't' },
        { id: 'restores', label: nav.restores, to: paths.restores, icon: RotateCcw, key: 'r' },
      ],
    },
    {
      title: nav.organization,
      entries: [
        { id: 'webhooks', label: nav.webhooks, to: paths.webhooks, icon: Webhook, key: 'w' },
        { id: 'team', label: nav.team, to: paths.team, icon: Users },
        { id: 'audit', label: nav.audit, to: paths.audit, icon: ScrollText, key: 'a', role: 'admin' },
        { id: 'settings', label: nav.settings, to: paths.settings(), icon: Settings },
      ],
    },
  ];
}
