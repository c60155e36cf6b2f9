import { type ItemOf, type Operations, roleAtLeast } from '@holdfast/contract';
import {
  Archive,
  CalendarClock,
  Database,
  FileText,
  HardDrive,
  Hash,
  History,
  type LucideIcon,
  RotateCcw,
  Settings,
  Webhook,
} from 'lucide-react';
import type { ReactNode } from 'react';
import { useAll, useRead } from '../api/calls.ts';
import { useNewestBackup } from '../api/newest-backup.ts';
import { useCan, useWorkplace, useZone } from '../api/organization.tsx';
import { formatDateTime, momentIn } from '../format/times.ts';
import type { Paths } from '../paths.ts';
import { t } from '../texts/index.ts';
import { usePaths } from '../url.ts';
import { navigationOf } from './navigation.ts';

export interface Entry {
  readonly id: string;
  readonly group: string;
  readonly icon: LucideIcon;
  readonly label: ReactNode;
  readonly to: string;
  /** Where its restore begins, with the command key held. */
  readonly restore?: string;
  readonly keys?: readonly string[];
  readonly aside?: string;
}

type Project = ItemOf<Operations['listProjects']>;

/** By what stands in the box; documents are asked for once the typing rests. */
export function useEntries(text: string, settled: string): Entry[] {
  const projects = useAll('listProjects', {}).rows ?? [];
  const path = pathIn(text);
  const documents = useDocuments(projects, path, pathIn(settled));
  const pages = usePages(projects, path ? '' : text);
  const moments = useMoments(projects, text.trim());
  const named = useNamed(path ? '' : text.trim());
  if (path) return documents;
  return text.trim() ? [...moments, ...pages, ...named] : pages;
}

const pathIn = (text: string) => (text.includes('/') ? text.replace(/^\/+/, '') : '');

function usePages(projects: readonly Project[], text: string): Entry[] {
  const paths = usePaths();
  const { organization } = useWorkplace();
  const canRun = useCan('member');
  const matches = (label: string) => label.toLowerCase().includes(text.trim().toLowerCase());
  const { palette } = t.shell;
  const found = projects
    .filter(({ name, sourceProjectId }) => matches(name) || matches(sourceProjectId))
    .slice(0, 8)
    .map(
      (project): Entry => ({
        id: project.id,
        group: palette.projects,
        icon: Database,
        label: project.name,
        to: paths.project(project.id),
      }),
    );
  const actions = canRun
    ? projects
        .filter(({ name }) => matches(palette.backUp(name)))
        .slice(0, 4)
        .map(
          (project): Entry => ({
            id: `run ${project.id}`,
            group: palette.doIt,
            icon: Archive,
            label: palette.backUp(project.name),
            to: `${paths.backups}?new=${project.id}`,
          }),
        )
    : [];
  const pages = navigationOf(paths)
    .flatMap((group) => group.entries)
    .filter(({ role, label }) => (!role || roleAtLeast(organization.role, role)) && matches(label))
    .map(
      (entry): Entry => ({
        id: entry.id,
        group: palette.goTo,
        icon: entry.icon,
        label: entry.label,
        to: entry.to,
        ...(entry.key ? { keys: ['G', entry.key.toUpperCase()] } : {}),
      }),
    );
  const named = pageOfId(paths, text.trim());
  return text.trim() ? [...named, ...found, ...actions, ...pages] : [...pages, ...found, ...actions];
}

/** A time of day, with its date or without: there the clock of the accident is already chosen. */
function useMoments(projects: readonly Project[], text: string): Entry[] {
  const paths = usePaths();
  const zone = useZone();
  const atMs = momentIn(text, zone, Date.now());
  if (atMs === undefined) return [];
  return projects
    .filter(isCaptured)
    .slice(0, 4)
    .map((project) => ({
      id: `at ${project.id}`,
      group: t.shell.nav.time,
      icon: History,
      label: t.shell.palette.seeAt(project.name, formatDateTime(atMs, zone)),
      to: paths.time(project.id, new Date(atMs).toISOString()),
    }));
}

const isCaptured = ({ pitr }: Project) => pitr.coveredFrom !== null;

/** What has a name and a page of its own. */
function useNamed(text: string): Entry[] {
  const paths = usePaths();
  const [isAdmin, isOwner] = [useCan('admin'), useCan('owner')];
  const asked = { enabled: text !== '', everyMs: false } as const;
  const schedules = useAll('listSchedules', {}, asked).rows ?? [];
  const storage = useAll('listStorageDestinations', {}, asked).rows ?? [];
  const webhooks = useAll('listWebhooks', {}, asked).rows ?? [];
  if (text === '') return [];
  const { nav } = t.shell;
  const { tabs, title } = t.settings;
  const settings: [id: keyof typeof tabs, isShown: boolean][] = [
    ['general', true],
    ['notifications', true],
    ['key', isAdmin],
    ['encryption', true],
    ['plan', isOwner],
    ['danger', isOwner],
  ];
  const all: Entry[] = [
    ...schedules.map(({ id, name }) => entry(id, nav.schedules, CalendarClock, name, paths.schedule(id))),
    ...storage.map(({ id, name }) => entry(id, nav.storage, HardDrive, name, paths.destination(id))),
    ...webhooks.map(({ id, name }) => entry(id, nav.webhooks, Webhook, name, paths.webhook(id))),
    ...settings
      .filter(([, isShown]) => isShown)
      .map(([id]) => entry(id, title, Settings, tabs[id], paths.settings(id))),
  ];
  return all.filter(({ label }) => String(label).toLowerCase().includes(text.toLowerCase())).slice(0, 8);
}

const entry = (id: string, group: string, icon: LucideIcon, label: string, to: string): Entry => ({
  id: `${group} ${id}`,
  group,
  icon,
  label,
  to,
});

/** An id that somebody copied from a log or a mail leads to what it names. */
function pageOfId(paths: Paths, id: string): Entry[] {
  const kinds: Record<string, ((id: string) => string) | undefined> = {
    bkp: paths.backup,
    rst: paths.restore,
    prj: paths.project,
    sch: paths.schedule,
    dst: paths.destination,
    whk: paths.webhook,
  };
  const kind = /^([a-z]{3})_[0-9A-Z]{26}$/.exec(id)?.[1];
  const to = kind && kinds[kind];
  return to ? [{ id, group: t.shell.palette.goTo, icon: Hash, label: t.shell.palette.openId(id), to: to(id) }] : [];
}

const partsOf = (path: string) => {
  const cut = path.lastIndexOf('/');
  return [path.slice(0, cut), path.slice(cut + 1)] as const;
};

/** A slash means a document: its collection and the beginning of its id, in the newest backup of each project in turn. */
function useDocuments(projects: readonly Project[], path: string, asked: string): Entry[] {
  const paths = usePaths();
  const canRestore = useCan('member');
  const [project, ...others] = projects;
  const { backup } = useNewestBackup(path === '' ? undefined : project?.id);
  const [collection, prefix] = partsOf(path);
  const [askedCollection, askedPrefix] = partsOf(asked);
  const isCollection = collection.split('/').length % 2 === 1 && !collection.includes('//');
  const found = useRead(
    'listBackupDocuments',
    {
      params: { backupId: backup?.id ?? '' },
      query: { collection: askedCollection, limit: 8, ...(askedPrefix ? { prefix: askedPrefix } : {}) },
    },
    {
      enabled: backup !== undefined && isCollection && askedCollection === collection && collection !== '',
      everyMs: false,
    },
  );
  // What was found for another text is not what this one means.
  const fitting = (found.data?.data ?? []).filter((document) => document.path.startsWith(path));
  if (!path || !project) return [];
  const { palette } = t.shell;
  const documents = fitting.map(
    (document): Entry => ({
      id: document.path,
      group: palette.documents(project.name),
      icon: FileText,
      aside: palette.versions,
      to: paths.document(project.id, document.path),
      ...(canRestore && backup ? { restore: paths.newRestore({ backupId: backup.id, document: document.path }) } : {}),
      label: (
        <span className="font-mono">
          <mark className="bg-then text-ink">{document.path.slice(0, path.length)}</mark>
          {document.path.slice(path.length)}
        </span>
      ),
    }),
  );
  const elsewhere = others.slice(0, 4).map(
    (other): Entry => ({
      id: `else ${other.id}`,
      group: palette.elsewhere,
      icon: Database,
      label: palette.lookIn(path, other.name),
      to: paths.find(path, { project: other.id }),
    }),
  );
  // Who lost a document types its path: the newest backup may have been made without it.
  const isListed = fitting.some((document) => document.path === path);
  const everywhere: Entry[] =
    isCollection && collection !== '' && prefix !== '' && !isListed
      ? [
          {
            id: 'everywhere',
            group: palette.allVersions,
            icon: FileText,
            label: t.find.openPath(path),
            to: paths.document(project.id, path),
          },
        ]
      : [];
  const restore: Entry[] =
    canRestore && backup && isCollection && askedCollection === collection && found.data && !found.error
      ? [
          {
            id: 'restore',
            group: palette.doIt,
            icon: RotateCcw,
            label: palette.restoreCollection(collection, project.name),
            to: paths.newRestore({ backupId: backup.id, collections: collection }),
            restore: paths.newRestore({ backupId: backup.id, collections: collection }),
          },
        ]
      : [];
  // The moment is chosen there; what was typed is looked for as of then.
  const sought = prefix !== '' && (isListed || documents.length === 0) ? path : collection;
  const atMoment = projects
    .filter((one) => isCaptured(one) && isCollection && collection !== '')
    .slice(0, 4)
    .map((one) => {
      const to = paths.time(one.id, undefined, sought);
      return entry(one.id, palette.elsewhere, History, palette.seeAtMoment(sought, one.name), to);
    });
  return [...documents, ...everywhere, ...elsewhere, ...atMoment, ...restore];
}
