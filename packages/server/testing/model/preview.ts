import type { Part } from './documents.ts';
import type { State } from './live-database.ts';
import type { BackupFact, RestoreFact } from './model.ts';
import type { Answer } from './world.ts';

/** How many documents a restore would handle in which way. */
export interface Counts {
  create: number;
  replace: number;
  merge: number;
  skip: number;
  delete: number;
}

const kinds = ['create', 'replace', 'merge', 'skip', 'delete'] as const;
const none = (): Counts => ({ create: 0, replace: 0, merge: 0, skip: 0, delete: 0 });

interface Wish {
  readonly mergeMode: 'overwrite' | 'skip_existing' | 'merge';
  readonly deleteExtra: boolean;
  readonly asked: Part;
}

/** What a restore does to a database without other writers. */
export function expectedCounts(
  { mergeMode, deleteExtra, asked }: Wish,
  { documents }: BackupFact,
  before: State,
  isInScope: (path: string) => boolean,
): Counts {
  const counts = none();
  const standing = ({ overwrite: 'replace', skip_existing: 'skip', merge: 'merge' } as const)[mergeMode];
  for (const path of new Set([...documents.keys(), ...before.keys()])) {
    if (!isInScope(path)) continue;
    if (documents.has(path)) counts[before.has(path) ? standing : 'create'] += 1;
    else if (deleteExtra && !asked.documents) counts.delete += 1;
  }
  return counts;
}

/** The counts before and after are those of what had to be done. */
export function countFaults(ended: Answer, expected: Counts): string[] {
  if (ended.status !== 'completed') return [];
  const told = ended.dryRun ? ended.preview : writtenCounts(ended);
  const wanted = ended.dryRun ? expected : sumsOf(expected);
  const isSame = Object.entries(wanted).every(([kind, count]) => told[kind] === count);
  return isSame ? [] : [`${ended.id} told ${JSON.stringify(told)} instead of ${JSON.stringify(wanted)}`];
}

function writtenCounts({ documentsRestored, documentsDeleted, progress, conflicts }: Answer) {
  return { written: documentsRestored, deleted: documentsDeleted, done: progress.documents, conflicts };
}

function sumsOf(counts: Counts) {
  const written = counts.create + counts.replace + counts.merge;
  return { written, deleted: counts.delete, done: written + counts.skip + counts.delete, conflicts: 0 };
}

interface Bounds {
  readonly least: Counts & { conflicts: number };
  readonly most: Counts & { conflicts: number };
}

/** What an undo does to a database without other writers; parts of what a restore wrote are unsure. */
function undoBounds({ written }: RestoreFact, isForced: boolean, before: State): Bounds {
  const [least, most] = [
    { ...none(), conflicts: 0 },
    { ...none(), conflicts: 0 },
  ];
  for (const [path, done] of written) {
    const stands = before.get(path);
    const isCreated = done.before === undefined;
    const isTheirs = stands?.version !== done.after && !isForced;
    const goes = stands ? ('delete' as const) : ('skip' as const);
    const comes = stands ? ('replace' as const) : ('create' as const);
    const kind = isTheirs ? ('conflicts' as const) : isCreated ? goes : comes;
    most[kind] += 1;
    if (done.isSure) least[kind] += 1;
  }
  return { least, most };
}

/** Compares a dry run of an undo with what the restore did. */
export function undoPreviewFaults(
  { id, preview, conflicts }: Answer,
  { undone, isForced, before }: { undone: RestoreFact; isForced: boolean; before: State },
): string[] {
  const { least, most } = undoBounds(undone, isForced, before);
  const told = { ...preview, conflicts };
  const isFair = [...kinds, 'conflicts' as const].every(
    (kind) => least[kind] <= told[kind] && told[kind] <= most[kind],
  );
  if (isFair) return [];
  return [`${id} would do ${JSON.stringify(told)}, not ${JSON.stringify(least)} to ${JSON.stringify(most)}`];
}

/** An undo did what its dry run said just before. */
export function asSaidFaults(ended: Answer, said: Answer): string[] {
  if (ended.status !== 'completed') return [];
  const { create, replace } = said.preview;
  const wanted = { written: create + replace, deleted: said.preview.delete, conflicts: said.conflicts };
  const told = writtenCounts(ended);
  const isSame = Object.entries(wanted).every(([kind, count]) => told[kind as keyof typeof told] === count);
  return isSame ? [] : [`${ended.id} did ${JSON.stringify(told)}, its dry run said ${JSON.stringify(wanted)}`];
}
