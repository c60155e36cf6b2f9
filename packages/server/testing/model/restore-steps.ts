import type { Soundness } from './damage.ts';
import { isPart, mergedValue, type Part, textOf } from './documents.ts';
import type { State } from './live-database.ts';
import { type BackupFact, judgeRun, type Model, type MomentRead, type Outcome, type RestoreFact } from './model.ts';
import { countFaults, expectedCounts } from './preview.ts';
import { Stock } from './stock.ts';
import type { Ambush, Troubled } from './trouble.ts';
import type { Answer, World } from './world.ts';

export interface RestoreStep extends Troubled {
  readonly do: 'restore';
  readonly pick: number;
  readonly isElsewhere: boolean;
  readonly mergeMode: 'overwrite' | 'skip_existing' | 'merge';
  readonly deleteExtra: boolean;
  readonly safetyBackup: boolean;
  readonly dryRun: boolean;
  readonly asked: Part;
}

/**
 * Whether a document was requested and is covered by the backup. Without named collections, those of the backup count.
 */
function isAsked(backup: Part, asked: Part, path: string): boolean {
  const { collections = backup.collections } = asked;
  return isPart(backup, path) && isPart({ ...asked, ...(collections && { collections }) }, path);
}

/** Whether the backup covers every document that may be meant. */
function covers(backup: Part, collection: string): boolean {
  if (backup.documents) return false;
  const probes = [`${collection}/x`, ...(backup.includeSubcollections === false ? [] : [`${collection}/x/y/z`])];
  return probes.every((path) => isPart(backup, path));
}

function refusalOf(
  backup: BackupFact,
  { asked, deleteExtra }: Pick<RestoreStep, 'asked' | 'deleteExtra'>,
): string | undefined {
  if (asked.includeSubcollections === true && backup.part.includeSubcollections === false) return 'VALIDATION_ERROR';
  if (!deleteExtra) return undefined;
  if (backup.part.documents || asked.documents) return 'VALIDATION_ERROR';
  if (asked.collections?.some((collection) => !covers(backup.part, collection))) return 'VALIDATION_ERROR';
  return undefined;
}

/** Something was requested by name that the backup does not contain. */
function isMissing(backup: BackupFact, { asked, deleteExtra }: Pick<RestoreStep, 'asked' | 'deleteExtra'>): boolean {
  if (asked.documents)
    return asked.documents.some(
      (path) => ![...backup.documents.keys()].some((held) => isPart({ ...asked, documents: [path] }, held)),
    );
  if (deleteExtra) return false;
  const named = asked.collections ?? [];
  const held = [...backup.documents.keys()].filter((path) => isAsked(backup.part, asked, path));
  return named.some((name) => !held.some((path) => isPart({ ...asked, collections: [name] }, path)));
}

/** What is restored, and how it is requested. */
export interface Wanted {
  readonly backup: BackupFact;
  readonly named: object;
  /** A moment instead of a backup. */
  readonly moment?: MomentRead;
}

export async function restore(world: World, model: Model, step: RestoreStep, ambush: Ambush): Promise<string[]> {
  const candidates = model.present;
  const backup = candidates[step.pick % candidates.length];
  return backup ? restoreFrom(world, model, step, ambush, { backup, named: { backupId: backup.id } }) : [];
}

export async function restoreFrom(
  world: World,
  model: Model,
  step: Omit<RestoreStep, 'do' | 'pick'>,
  ambush: Ambush,
  { backup, named, moment }: Wanted,
): Promise<string[]> {
  const target = step.isElsewhere ? 1 - backup.project : backup.project;
  const { live, id: targetProjectId } = world.projects[target]!;
  const before = await live.read();
  const soundness = await soundnessOf(world, model, [backup.id]);
  const { collections, documents, includeSubcollections } = step.asked;
  const answer = await world.call('POST', '/backups/restore', {
    ...named,
    targetProjectId,
    ...(collections ? { collections } : {}),
    ...(documents ? { documentIds: documents } : {}),
    options: {
      mergeMode: step.mergeMode,
      deleteExtra: step.deleteExtra,
      safetyBackup: step.safetyBackup,
      dryRun: step.dryRun,
      ...(includeSubcollections === undefined ? {} : { includeSubcollections }),
    },
  });
  const refusal = refusalOf(backup, step);
  if (answer.status !== 202) {
    const code = answer.body?.error?.code;
    const isFair = code === refusal || (code === 'COLLECTION_NOT_FOUND' && isMissing(backup, step)) || model.isAway;
    if (isFair) return [];
    return moment ? moment.refusalFaults(answer) : [`a restore was refused: ${answer.text}`];
  }
  const fact = Object.assign(factOf(answer.body.data, backup, step, target), moment ? { moment } : {});
  if (!step.dryRun) model.restores.push(fact);
  const { ended, faults } = await follow(world, model, fact, ambush, before);
  const code = ended.error?.code;
  if (refusal && ended.status === 'completed') faults.push(`a restore that had to be refused was completed`);
  if (step.dryRun || step.trouble === 'none')
    faults.push(
      ...countFaults(
        ended,
        expectedCounts(step, backup, before, (path) => isAsked(backup.part, step.asked, path)),
      ),
    );
  const isNamedMissing = ['COLLECTION_NOT_FOUND', 'DOCUMENT_NOT_FOUND'].includes(code) && isMissing(backup, step);
  const isFair = isNamedMissing || refusal || isFairFailure(model, soundness, ended);
  if (ended.status === 'failed' && step.trouble === 'none' && !isFair)
    faults.push(`a restore failed: ${JSON.stringify(ended.error)}`);
  return [...faults, ...damageFaults(fact, ended)];
}

/** Whether everything that is read is whole somewhere; with an unreachable place nobody can say. */
export async function soundnessOf(world: World, model: Model, backupIds: readonly string[]): Promise<Soundness> {
  if (model.isAway) return 'unsure';
  if (!model.damage.isAny) return 'whole';
  const stock = await Stock.take(world, model);
  const found = backupIds.map((id) => stock.readable({ id }));
  return found.includes('damaged') ? 'damaged' : found.includes('unsure') ? 'unsure' : 'whole';
}

export function isFairFailure({ isAway }: Model, soundness: Soundness, { error }: Answer): boolean {
  return isAway || (soundness !== 'whole' && error?.code === 'INTEGRITY_ERROR');
}

/** Data that is damaged everywhere is refused before the first write. */
export function damageFaults({ id, written }: RestoreFact, { status, error }: Answer): string[] {
  if (status !== 'failed' || error?.code !== 'INTEGRITY_ERROR') return [];
  const paths = [...written].filter(([, { isSure }]) => isSure).map(([path]) => path);
  return paths.length > 0 ? [`${id} met damage and had written ${paths.join(', ')}`] : [];
}

type How = Pick<RestoreStep, 'mergeMode' | 'deleteExtra' | 'safetyBackup' | 'dryRun' | 'asked'>;

export function factOf(record: Answer, backup: BackupFact, step: How, target: number): RestoreFact {
  const { mergeMode, deleteExtra, safetyBackup, dryRun, asked } = step;
  const isInScope = (path: string) => isAsked(backup.part, asked, path);
  const written: RestoreFact['written'] = new Map();
  const edited = new Set<string>();
  const put = (path: string, now: State): Outcome => {
    const [stands, restored] = [now.get(path)?.value, backup.documents.get(path)!];
    if (mergeMode === 'skip_existing') return stands ?? restored;
    return mergeMode === 'merge' ? mergedValue(stands, restored) : restored;
  };
  const fact: RestoreFact = {
    id: record.id,
    target,
    backupIds: [backup.id],
    undoOf: undefined,
    isForced: false,
    isSafe: safetyBackup || (mergeMode === 'skip_existing' && !deleteExtra),
    written,
    edited,
    status: 'pending',
    safetyBackupId: null,
    hasLostAnswers: false,
    undoneBy: undefined,
    conflicts: 0,
    mayWrite: (path, now) => {
      if (dryRun || !isInScope(path)) return false;
      if (backup.documents.has(path)) return mergeMode !== 'skip_existing' || !now.has(path);
      return deleteExtra && !asked.documents && now.has(path);
    },
    plan: (path, now) => {
      const stands = now.get(path);
      if (dryRun || !isInScope(path)) return [stands?.value];
      const done = written.get(path);
      // A document that was changed after it was written is not written again.
      if (done && done.after !== stands?.version && edited.has(path))
        return done.isSure && !fact.hasLostAnswers ? [stands?.value] : [stands?.value, planned(path, now)];
      if (done?.isSure && done.after === stands?.version) return [stands?.value, planned(path, now)];
      return [planned(path, now)];
    },
  };
  function planned(path: string, now: State): Outcome {
    if (backup.documents.has(path)) return put(path, now);
    const isKept = !deleteExtra || asked.documents !== undefined || edited.has(path);
    return isKept ? now.get(path)?.value : undefined;
  }
  return fact;
}

/** A run to its end: compares the record and the database with what may have happened. */
export async function follow(
  world: World,
  model: Model,
  fact: RestoreFact,
  ambush: Ambush,
  before: State,
): Promise<{ ended: Answer; faults: string[] }> {
  const { ended, standing, faults } = await ambush.follow(fact, before);
  fact.status = ended.status;
  fact.conflicts = ended.conflicts;
  // A missing safety backup is made again by a resume.
  if (ended.safetyBackupId !== null && ended.safetyBackupId !== fact.safetyBackupId) {
    fact.safetyBackupId = ended.safetyBackupId;
    await noteSafetyBackup(world, model, fact, ended.safetyBackupId, before);
  }
  if (fact.undoOf) faults.push(...conflictFaults(fact, ended, standing));
  faults.push(...judgeRun(fact, standing, await world.projects[fact.target]!.live.read()));
  return { ended, faults };
}

async function noteSafetyBackup(
  world: World,
  model: Model,
  fact: RestoreFact,
  id: string,
  before: State,
): Promise<void> {
  const record = await world.untilEnded(`/backups/${id}`);
  if (record.status !== 'completed') return;
  const { collections, excludeCollections, includeSubcollections, documents } = record.scope;
  const part: Part = documents
    ? { documents: documents.paths }
    : { includeSubcollections, excludeCollections, ...(collections[0] === '*' ? {} : { collections }) };
  const saved = [...before].filter(([path]) => isPart(part, path));
  model.backups.push({
    id,
    project: fact.target,
    part,
    documents: new Map(saved.map(([path, { value }]) => [path, value])),
    isSafety: true,
    retentionDays: 7,
    isHeld: false,
    isGone: false,
  });
}

/** Documents that were changed since are left and reported: neither more nor less. */
function conflictFaults(fact: RestoreFact, ended: Answer, standing: State): string[] {
  if (ended.status !== 'completed') return [];
  const changed = [...fact.undoOf!.written].filter(([path, { after }]) => standing.get(path)?.version !== after);
  const most = fact.isForced ? 0 : changed.length;
  const least = fact.isForced ? 0 : changed.filter(([, { isSure }]) => isSure).length;
  if (ended.conflicts >= least && ended.conflicts <= most) return [];
  return [`an undo told ${ended.conflicts} conflicts, there were ${least} to ${most}: ${textOf(changed)}`];
}
