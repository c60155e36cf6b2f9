import { Damage } from './damage.ts';
import { isPart, type Part, paths, textOf, type Value } from './documents.ts';
import type { State } from './live-database.ts';
import type { Answer } from './world.ts';

/** A completed backup, and what it must show as long as it exists. */
export interface BackupFact {
  readonly id: string;
  readonly project: number;
  readonly part: Part;
  readonly documents: ReadonlyMap<string, Value>;
  readonly isSafety: boolean;
  /** Days after which it may be removed automatically; null: never. */
  readonly retentionDays: number | null;
  /** The schedule whose policy decides. */
  readonly scheduleId?: string | undefined;
  isHeld: boolean;
  isGone: boolean;
  /** It failed its verification. */
  isDoubted?: boolean;
}

/** What a restore did to one document, as seen from outside. */
export interface Written {
  readonly before: Value | undefined;
  /** The version it left; undefined when it deleted the document. */
  readonly after: string | undefined;
  /** False where it may have written the same value that was there. */
  readonly isSure: boolean;
}

export type Outcome = Value | undefined;

/** A moment that a restore brings back. */
export interface MomentRead {
  readonly projectId: string;
  readonly at: string;
  /** What is wrong with a refusal of the service. */
  refusalFaults(answer: Answer): Promise<string[]>;
}

export interface RestoreFact {
  readonly id: string;
  readonly target: number;
  readonly backupIds: readonly string[];
  readonly moment?: MomentRead;
  readonly undoOf: RestoreFact | undefined;
  readonly isForced: boolean;
  /** Whether the service said that it saves what it overwrites. */
  readonly isSafe: boolean;
  /** The possible outcomes of a document in this state when the restore reaches it. */
  plan(path: string, now: State): Outcome[];
  /** Whether it would write there, even if only the same value. */
  mayWrite(path: string, now: State): boolean;
  readonly written: Map<string, Written>;
  /** What people changed since it began. */
  readonly edited: Set<string>;
  status: string;
  safetyBackupId: string | null;
  /** An answer was lost, so it wrote something that it does not know of. */
  hasLostAnswers: boolean;
  undoneBy: RestoreFact | undefined;
  conflicts: number;
  /** Its target was disconnected, and its database connected anew. */
  isTargetGone?: boolean;
}

export class Model {
  readonly backups: BackupFact[] = [];
  readonly restores: RestoreFact[] = [];
  /** The farthest that time was moved so far. */
  daysMax = 0;
  hadStorageTrouble = false;
  readonly damage = new Damage();
  /** A destination is unreachable at present. */
  isAway = false;
  /** Backups of projects that were disconnected and connected anew. */
  readonly former = new Set<string>();
  scheduleIds: { full?: string; incremental?: string } = {};

  get present(): BackupFact[] {
    return this.backups.filter(({ isGone }) => !isGone);
  }

  backup(id: string): BackupFact | undefined {
    return this.backups.find((one) => one.id === id);
  }

  noteEdits(project: number, edited: readonly string[]): void {
    for (const restore of this.restores)
      if (restore.target === project) for (const path of edited) restore.edited.add(path);
  }
}

export function documentsIn(part: Part, state: State): Map<string, Value> {
  return new Map([...state].filter(([path]) => isPart(part, path)).map(([path, { value }]) => [path, value]));
}

/** Compares what a run of a restore did with what it may do, and remembers it. */
export function judgeRun(restore: RestoreFact, before: State, after: State): string[] {
  const faults: string[] = [];
  const isOver = restore.status === 'completed';
  for (const path of paths) {
    const [was, is] = [before.get(path), after.get(path)];
    const planned = restore.plan(path, before);
    const allowed = isOver ? planned : [...planned, was?.value];
    if (!allowed.some((value) => textOf(value) === textOf(is?.value)))
      faults.push(
        `${restore.undoOf ? 'undo' : 'restore'} ${restore.status}: ${path} was ${textOf(was?.value)}, may be ${allowed.map(textOf).join(' or ')}, is ${textOf(is?.value)}`,
      );
    const hasChanged = was?.version !== is?.version;
    if (hasChanged && !restore.mayWrite(path, before))
      faults.push(`${path} was written and lies outside the announced scope`);
    remember(restore, path, before, after);
  }
  return faults;
}

function remember(restore: RestoreFact, path: string, before: State, after: State): void {
  const [was, is] = [before.get(path), after.get(path)];
  const former = restore.written.get(path);
  const isStill = former !== undefined && former.after === was?.version;
  if (was?.version !== is?.version)
    restore.written.set(path, { before: isStill ? former.before : was?.value, after: is?.version, isSure: true });
  else if (!former && restore.mayWrite(path, before))
    restore.written.set(path, { before: was?.value, after: is?.version, isSure: false });
}
