import type { Restore } from '@holdfast/contract';
import { useAll } from '../../api/calls.ts';
import { State, type Tone } from '../../components/status.tsx';
import { formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';

export const isRunning = (restore: Restore) => restore.status === 'running' || restore.status === 'pending';

/** What is restored, in a few words. */
export function whatOf(restore: Restore): string {
  if (restore.undoOf) return t.restores.anUndo;
  if (restore.items?.length) return t.restores.documents(restore.items.length);
  if (restore.documentIds) {
    const [first = '', ...others] = restore.documentIds;
    const documents = others.length === 0 ? first : t.restores.documents(restore.documentIds.length);
    return restore.includeSubcollections ? t.newRestore.withBelow(documents) : documents;
  }
  if (!restore.collections || restore.collections[0] === '*') return t.restores.everything;
  return t.newRestore.collections(restore.collections);
}

/** The same in lower case, for a sentence. */
export const whatIn = (restore: Restore) => {
  const words = whatOf(restore);
  return words === t.restores.everything || words === t.restores.anUndo
    ? words.charAt(0).toLowerCase() + words.slice(1)
    : words;
};

const tones: Record<Restore['displayStatus'], Tone> = { Success: 'held', Failed: 'fail', 'In Progress': 'move' };

export function RestoreState({ restore }: { restore: Restore }) {
  if (restore.status === 'cancelled') return <State tone="off">{t.jobs.status.cancelled}</State>;
  return <State tone={tones[restore.displayStatus]}>{t.restores.display[restore.displayStatus]}</State>;
}

export function useProjectNames(): (id: string) => string {
  const projects = useAll('listProjects', {}).rows ?? [];
  return (id) => projects.find((project) => project.id === id)?.name ?? id;
}

/** What an undo cannot bring back, and why. */
export function Irreversible({ of }: { of: Pick<Restore, 'irreversibleReasons'> }) {
  return (
    <ul className="list-disc pl-5 text-table">
      {of.irreversibleReasons.map(({ reason, count }) => (
        <li key={reason}>
          {reason} ({formatCount(count)})
        </li>
      ))}
    </ul>
  );
}
