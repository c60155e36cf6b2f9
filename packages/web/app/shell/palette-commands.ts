import type { Role } from '@holdfast/contract';
import { roleAtLeast } from '@holdfast/contract';
import {
  Archive,
  CalendarClock,
  CircleX,
  Database,
  FileSearch,
  FlaskConical,
  HardDrive,
  LifeBuoy,
  type LucideIcon,
  RotateCcw,
  UserPlus,
  UserRound,
  Webhook,
} from 'lucide-react';
import { useWorkplace } from '../api/organization.tsx';
import { t } from '../texts/index.ts';
import { useParam, usePaths } from '../url.ts';
import { type Entry, entry, type Project } from './palette-entry.ts';

const { palette } = t.shell;
const projectsOffered = 4;

type Command = readonly [id: keyof typeof palette.commands, icon: LucideIcon, to: string, role: Role];

/** Shorter texts match too many names. */
const aliasLettersMin = 3;

/** Actions, found by the words people use for them. */
export function useCommands(projects: readonly Project[], text: string): Entry[] {
  const paths = usePaths();
  const { organization } = useWorkplace();
  const wanted = text.toLowerCase();
  const matches = (label: string) => label.toLowerCase().includes(wanted);
  const backUps = projects
    .filter(({ name }) => matches(palette.backUp(name)))
    .slice(0, projectsOffered)
    .map(({ id, name }) =>
      entry(`run ${id}`, palette.doIt, Archive, palette.backUp(name), `${paths.backups}?new=${id}`),
    );
  const runs = roleAtLeast(organization.role, 'member') ? backUps : [];
  if (wanted === '') return runs;
  const commands: Command[] = [
    ['restore', RotateCcw, paths.newRestore({}), 'member'],
    ['undo', RotateCcw, paths.restores, 'viewer'],
    ['drills', FlaskConical, paths.drills, 'viewer'],
    ['failed', CircleX, paths.failedBackups, 'viewer'],
    ['project', Database, paths.newProject, 'member'],
    ['schedule', CalendarClock, paths.newSchedule(), 'member'],
    ['storage', HardDrive, paths.newStorage, 'admin'],
    ['webhook', Webhook, paths.newWebhook, 'admin'],
    ['invite', UserPlus, paths.invite, 'admin'],
    ['kit', LifeBuoy, paths.settings('encryption'), 'owner'],
    ['account', UserRound, paths.account, 'viewer'],
  ];
  const others = commands
    .filter(([, , , role]) => roleAtLeast(organization.role, role))
    .filter(([id]) => {
      const [label, ...aliases] = palette.commands[id];
      return matches(label) || (wanted.length >= aliasLettersMin && aliases.some(matches));
    })
    .map(([id, icon, to]) => entry(id, palette.doIt, icon, palette.commands[id][0], to));
  return [...runs, ...others];
}

/** An id or an e-mail address is also searched in documents, even if something else has that name. */
export function useTextSearches(projects: readonly Project[], text: string): Entry[] {
  const paths = usePaths();
  const here = useParam('projectId');
  if (text === '') return [];
  const kept = projects.filter(({ statistics }) => statistics.backupCount > 0);
  return [...kept.filter(({ id }) => id === here), ...kept.filter(({ id }) => id !== here)]
    .slice(0, projectsOffered)
    .map(({ id, name }) =>
      entry(
        `text ${id}`,
        palette.inDocuments,
        FileSearch,
        palette.lookFor(text, name),
        paths.find(text, { project: id }),
      ),
    );
}
