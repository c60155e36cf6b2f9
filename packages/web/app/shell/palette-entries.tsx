import { roleAtLeast } from '@holdfast/contract';
import { CalendarClock, Database, HardDrive, Hash, History, Settings, Webhook } from 'lucide-react';
import { useAll } from '../api/calls.ts';
import { useCan, useWorkplace, useZone } from '../api/organization.tsx';
import { serviceNow } from '../format/service-clock.ts';
import { formatDateTime, momentIn } from '../format/times.ts';
import type { Paths } from '../paths.ts';
import { t } from '../texts/index.ts';
import { usePaths } from '../url.ts';
import { navigationOf } from './navigation.ts';
import { useCommands, useTextSearches } from './palette-commands.ts';
import { useDocuments } from './palette-documents.tsx';
import { type Entry, entry, isCaptured, type Project } from './palette-entry.ts';

/** Entries for the typed text; documents are searched after a pause in typing. */
export function useEntries(text: string, settled: string): { entries: Entry[]; note?: string | undefined } {
  const projects = useAll('listProjects', {}).rows ?? [];
  const path = pathIn(text);
  const documents = useDocuments(projects, path, pathIn(settled));
  const pages = usePages(projects, path ? '' : text);
  const moments = useMoments(projects, text.trim());
  const named = useNamed(path ? '' : text.trim());
  const commands = useCommands(projects, path ? '' : text.trim());
  const searches = useTextSearches(projects, path ? '' : text.trim());
  if (path) return documents;
  return {
    entries: text.trim() ? [...moments, ...pages, ...named, ...commands, ...searches] : [...pages, ...commands],
  };
}

const pathIn = (text: string) => (text.includes('/') ? text.replace(/^\/+/, '') : '');

function usePages(projects: readonly Project[], text: string): Entry[] {
  const paths = usePaths();
  const { organization } = useWorkplace();
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
  return text.trim() ? [...named, ...found, ...pages] : [...pages, ...found];
}

/** A time, with or without a date, opens point in time at that moment. */
function useMoments(projects: readonly Project[], text: string): Entry[] {
  const paths = usePaths();
  const zone = useZone();
  const atMs = momentIn(text, zone, serviceNow());
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

/** Records with a name and a page. */
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

/** A pasted id opens the record it belongs to. */
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
