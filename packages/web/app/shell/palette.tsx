import { type ItemOf, type Operations, roleAtLeast } from '@holdfast/contract';
import { Archive, Database, FileText, Hash, type LucideIcon, RotateCcw, Search } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useAll, useRead } from '../api/calls.ts';
import { useNewestBackup } from '../api/newest-backup.ts';
import { useCan, useWorkplace } from '../api/organization.tsx';
import { Key } from '../components/key.tsx';
import type { Paths } from '../paths.ts';
import { t } from '../texts/index.ts';
import { useGo, usePaths } from '../url.ts';
import { navigationOf } from './navigation.ts';

interface Entry {
  readonly id: string;
  readonly group: string;
  readonly icon: LucideIcon;
  readonly label: ReactNode;
  readonly to: string;
  readonly keys?: readonly string[];
  readonly aside?: string;
}

type Project = ItemOf<Operations['listProjects']>;
const typingMs = 120;

/** Everything is reached from here: pages, projects, and documents by their path. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const entries = useEntries(useSettled(text));
  const go = useGo();
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const current = Math.min(chosen, entries.length - 1);
  const open = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    go(entry.to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (event.key === 'Enter') open(entries[current]);
    if (step === undefined) return;
    event.preventDefault();
    setChosen((current + step + entries.length) % Math.max(1, entries.length));
  };
  return (
    <dialog
      ref={dialog}
      aria-label={t.shell.palette.label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
      onKeyDown={onKeyDown}
      className="mx-auto mt-[10vh] w-[94vw] max-w-[600px] flex-col overflow-hidden rounded-panel border border-line bg-surface p-0 text-ink shadow-overlay open:flex"
    >
      <div className="flex items-center gap-3 border-line border-b px-4">
        <Search size={18} aria-hidden className="shrink-0 text-ink2" />
        <input
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={entries[current] ? `${id}-${current}` : undefined}
          aria-label={t.shell.palette.label}
          placeholder={t.shell.palette.placeholder}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(0);
          }}
          spellCheck={false}
          autoComplete="off"
          className={`h-13 min-w-0 flex-1 bg-transparent text-section outline-none ${text.includes('/') ? 'font-mono' : ''}`}
        />
        <Key>Esc</Key>
      </div>
      <EntryList id={id} entries={entries} current={current} onOpen={open} onHover={setChosen} />
      <footer className="flex items-center gap-4 border-line border-t bg-bg px-4 py-2 text-meta text-ink2">
        <span className="flex items-center gap-1">
          <Key>↑</Key>
          <Key>↓</Key> {t.shell.palette.choose}
        </span>
        <span className="flex items-center gap-1">
          <Key>↵</Key> {t.shell.palette.open}
        </span>
        <span className="ml-auto">{t.shell.palette.hint}</span>
      </footer>
    </dialog>
  );
}

interface EntryListProps {
  id: string;
  entries: readonly Entry[];
  current: number;
  onOpen: (entry: Entry) => void;
  onHover: (index: number) => void;
}

function EntryList({ id, entries, current, onOpen, onHover }: EntryListProps) {
  return (
    <div id={id} role="listbox" aria-label={t.shell.palette.label} className="max-h-[52vh] overflow-y-auto p-2">
      {entries.length === 0 && <p className="px-3 py-6 text-center text-table text-ink2">{t.shell.palette.nothing}</p>}
      {entries.map((entry, index) => (
        <div key={entry.id} role="presentation">
          {entry.group !== entries[index - 1]?.group && (
            <p role="presentation" className="px-3 pt-2 pb-1 text-meta text-ink3">
              {entry.group}
            </p>
          )}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the arrow keys and Enter of the field above choose and open */}
          <div
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            tabIndex={-1}
            ref={(element) => {
              if (index === current) element?.scrollIntoView({ block: 'nearest' });
            }}
            onClick={() => onOpen(entry)}
            onMouseMove={() => onHover(index)}
            className="flex h-9 cursor-pointer items-center gap-3 rounded-control border-transparent border-l-2 px-3 text-table aria-selected:border-held aria-selected:bg-held-weak max-sm:h-11"
          >
            <entry.icon size={16} aria-hidden className="shrink-0 text-ink2" />
            <span className="min-w-0 flex-1 truncate">{entry.label}</span>
            {entry.aside && index === current && <span className="text-meta text-ink2">{entry.aside}</span>}
            {entry.keys?.map((key) => (
              <Key key={key}>{key}</Key>
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

/** What was typed, once the typing rests. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function useEntries(text: string): Entry[] {
  const projects = useAll('listProjects', {}).rows ?? [];
  const path = text.includes('/') ? text.replace(/^\/+/, '') : '';
  const documents = useDocuments(projects, path);
  const pages = usePages(projects, path ? '' : text);
  return path ? documents : pages;
}

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

/** A slash means a document: its collection and the beginning of its id, in the newest backup of each project in turn. */
function useDocuments(projects: readonly Project[], path: string): Entry[] {
  const paths = usePaths();
  const canRestore = useCan('member');
  const [project, ...others] = projects;
  const { backup } = useNewestBackup(path === '' ? undefined : project?.id);
  const cut = path.lastIndexOf('/');
  const [collection, prefix] = [path.slice(0, cut), path.slice(cut + 1)];
  const isCollection = collection.split('/').length % 2 === 1 && !collection.includes('//');
  const found = useRead(
    'listBackupDocuments',
    { params: { backupId: backup?.id ?? '' }, query: { collection, limit: 8, ...(prefix ? { prefix } : {}) } },
    { enabled: backup !== undefined && isCollection && collection !== '', everyMs: false },
  );
  if (!path || !project) return [];
  const { palette } = t.shell;
  const documents = (found.data?.data ?? []).map(
    (document): Entry => ({
      id: document.path,
      group: palette.documents(project.name),
      icon: FileText,
      aside: palette.versions,
      to: paths.document(project.id, document.path),
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
      to: `${paths.find(path)}&project=${other.id}`,
    }),
  );
  // Who lost a document types its path: the newest backup may have been made without it.
  const isListed = (found.data?.data ?? []).some((document) => document.path === path);
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
    canRestore && backup && isCollection && found.data && !found.error
      ? [
          {
            id: 'restore',
            group: palette.doIt,
            icon: RotateCcw,
            label: palette.restoreCollection(collection, project.name),
            to: paths.newRestore({ backupId: backup.id, collections: collection }),
          },
        ]
      : [];
  return [...documents, ...everywhere, ...elsewhere, ...restore];
}
