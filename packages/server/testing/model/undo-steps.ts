import type { Model, RestoreFact } from './model.ts';
import { asSaidFaults, undoPreviewFaults } from './preview.ts';
import { follow, isFairFailure, soundnessOf } from './restore-steps.ts';
import type { Ambush, Troubled } from './trouble.ts';
import type { Answer, World } from './world.ts';

export interface ResumeStep extends Troubled {
  readonly do: 'resume';
  readonly pick: number;
}

export async function resume(world: World, model: Model, step: ResumeStep, ambush: Ambush): Promise<string[]> {
  const candidates = model.restores.filter(({ status }) => status === 'failed' || status === 'cancelled');
  const fact = candidates[step.pick % candidates.length];
  if (!fact) return [];
  const before = await world.projects[fact.target]!.live.read();
  const answer = await world.call('POST', `/backups/restore/${fact.id}/resume`, {});
  if (answer.status !== 202) {
    const isFair =
      model.isAway ||
      fact.isTargetGone ||
      fact.undoneBy !== undefined ||
      [...fact.backupIds, fact.safetyBackupId].some((id) => id && model.backup(id)?.isGone);
    return isFair ? [] : [`a resume was refused: ${answer.text}`];
  }
  return (await follow(world, model, fact, ambush, before)).faults;
}

export interface UndoStep extends Troubled {
  readonly do: 'undo';
  readonly pick: number;
  readonly force: boolean;
  /** A dry run comes first. */
  readonly isTried?: boolean;
}

export async function undo(world: World, model: Model, step: UndoStep, ambush: Ambush): Promise<string[]> {
  const candidates = model.restores;
  const undone = candidates[step.pick % candidates.length];
  if (!undone) return [];
  const before = await world.projects[undone.target]!.live.read();
  // The overwritten documents were saved there; where that was impossible, the restore wrote nothing.
  const isLost = undone.safetyBackupId !== null && model.backup(undone.safetyBackupId)?.isGone !== false;
  const tried = step.isTried ? await tryUndo(world, undone, step.force) : undefined;
  const answer = await world.call('POST', `/backups/restore/${undone.id}/undo`, { force: step.force });
  if (answer.status !== 202) {
    const isRefusable = !undone.isSafe || undone.undoneBy !== undefined || isLost;
    const code = answer.body?.error?.code;
    const isFair = (code === 'INVALID_STATE' && isRefusable) || (code === 'PROJECT_NOT_FOUND' && undone.isTargetGone);
    return isFair ? [] : [`an undo was refused: ${answer.text}`];
  }
  // An interrupted one needs what it wrote last, and what it wrote from.
  const isBrokenOff = undone.status === 'failed' || undone.status === 'cancelled';
  const asked = isBrokenOff ? undone.backupIds : [];
  const isSilent =
    asked.some((id) => model.backup(id)?.isGone) ||
    (await soundnessOf(world, model, asked)) !== 'whole' ||
    (isBrokenOff && (await isPastLost(world, undone)));
  const fact = undoOf(answer.body.data.id, undone, step.force, isSilent);
  model.restores.push(fact);
  undone.undoneBy = fact;
  const soundness = await soundnessOf(world, model, undone.safetyBackupId ? [undone.safetyBackupId] : []);
  const { ended, faults } = await follow(world, model, fact, ambush, before);
  const isFair =
    isFairFailure(model, soundness, ended) || (isSilent && !step.force && ended.error?.code === 'INTEGRITY_ERROR');
  if (ended.status === 'failed' && step.trouble === 'none' && !isLost && !isFair)
    faults.push(`an undo failed: ${JSON.stringify(ended.error)}`);
  if (tried?.status === 'completed') {
    if (!isSilent) faults.push(...undoPreviewFaults(tried, { undone, isForced: step.force, before }));
    if (step.trouble === 'none') faults.push(...asSaidFaults(ended, tried));
  }
  return faults;
}

/** The record of a finished dry run; undefined where even that was refused. */
async function tryUndo(world: World, undone: RestoreFact, force: boolean): Promise<Answer | undefined> {
  const answer = await world.call('POST', `/backups/restore/${undone.id}/undo`, { force, dryRun: true });
  return answer.status === 202 ? world.untilEnded(`/backups/restore/${answer.body.data.id}`) : undefined;
}

/** The moment that it restored can no longer be reached. */
async function isPastLost(world: World, { moment }: RestoreFact): Promise<boolean> {
  if (!moment) return false;
  const { status } = await world.call('GET', `/projects/${moment.projectId}/pitr/view/collections?at=${moment.at}`);
  return status !== 200;
}

function undoOf(id: string, undone: RestoreFact, isForced: boolean, isSilent: boolean): RestoreFact {
  // Nobody knows what was written when the answer was lost.
  const mayBeMissed = isSilent && undone.hasLostAnswers;
  return {
    id,
    target: undone.target,
    backupIds: undone.safetyBackupId ? [undone.safetyBackupId] : [],
    undoOf: undone,
    isForced,
    isSafe: true,
    written: new Map(),
    edited: new Set(),
    status: 'pending',
    safetyBackupId: null,
    hasLostAnswers: false,
    undoneBy: undefined,
    conflicts: 0,
    mayWrite: (path) => undone.written.has(path),
    plan: (path, now) => {
      const done = undone.written.get(path);
      const stands = now.get(path);
      if (!done) return [stands?.value];
      if (mayBeMissed) return [done.before, stands?.value];
      if (done.after === stands?.version) return [done.isSure ? done.before : stands?.value];
      if (!isForced) return [stands?.value];
      return done.isSure ? [done.before] : [done.before, stands?.value];
    },
  };
}
