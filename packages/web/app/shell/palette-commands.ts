import type { Role } from '@holdfast/contract';
import { roleAtLeast } from '@holdfast/contract';
import {
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

/** What people come to do, by the words they have for it. */
export function useCommands(text: string): Entry[] {
  const paths = usePaths();
  const { organization } = useWorkplace();
  const wanted = text.toLowerCase();
  if (wanted === '') return [];
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
  return commands
    .filter(([, , , role]) => roleAtLeast(organization.role, role))
    .filter(([id]) => palette.commands[id].some((words) => words.toLowerCase().includes(wanted)))
    .map(([id, icon, to]) => entry(id, palette.doIt, icon, palette.commands[id][0], to));
}

/** An id or an address from a log is looked for in the documents, whether something else is called so or not. */
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
