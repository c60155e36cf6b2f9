import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { Edit, State } from './live-database.ts';
import type { Model, MomentRead, RestoreFact } from './model.ts';
import type { Answer, World } from './world.ts';

/** What happens when a restore is about to write its first documents. */
export const troubles = [
  'none',
  /** People keep working. */
  'edits',
  'cancel',
  /** The database refuses writes for longer than any retry lasts. */
  'refused',
  /** A write succeeds and its answer is lost, once or until the retries end. */
  'lost answer',
  'lost answers',
  /** Somebody tries to delete what it reads. */
  'meddling',
] as const;
export type Trouble = (typeof troubles)[number];

/** Without a sandbox nothing can misbehave. */
export function troubleOf(canMisbehave: boolean): fc.Arbitrary<Trouble> {
  if (!canMisbehave) return fc.constant('none');
  return fc.oneof(
    { arbitrary: fc.constant<Trouble>('none'), weight: 4 },
    { arbitrary: fc.constantFrom(...troubles), weight: 5 },
  );
}

export interface Troubled {
  readonly trouble: Trouble;
  readonly edits: readonly Edit[];
}

const pollMs = 5;
const cancelHeadStartMs = 40;
const forGood = 1000;

export interface Run {
  ended: Answer;
  /** The database as the restore found it, with the changes of people before it wrote. */
  standing: State;
  faults: string[];
}

/** Waits for the next restore and interferes with it. */
export class Ambush {
  readonly #world: World;
  readonly #model: Model;
  readonly #step: Troubled;
  readonly #gate = Promise.withResolvers<void>();

  constructor(world: World, model: Model, step: Troubled) {
    this.#world = world;
    this.#model = model;
    this.#step = step;
    const control = world.service.sandbox?.control;
    const method = 'BatchWrite';
    if (step.trouble === 'refused') control?.addFault({ method, status: 'UNAVAILABLE', times: forGood });
    else if (step.trouble === 'lost answer')
      control?.addFault({ method, status: 'UNAVAILABLE', afterEffect: true, times: 1 });
    else if (step.trouble === 'lost answers')
      control?.addFault({ method, status: 'UNAVAILABLE', afterEffect: true, times: forGood });
    else if (step.trouble !== 'none') control?.addFault({ method, until: this.#gate.promise, times: 1 });
  }

  /** Waits for the end of the run. */
  async follow(restore: RestoreFact, before: State): Promise<Run> {
    const { trouble } = this.#step;
    const path = `/backups/restore/${restore.id}`;
    if (trouble === 'lost answer' || trouble === 'lost answers') restore.hasLostAnswers = true;
    if (!['edits', 'cancel', 'meddling'].includes(trouble) || !(await this.#isAboutToWrite(path)))
      return { ended: await this.#world.untilEnded(path), standing: before, faults: [] };
    const faults: string[] = [];
    let standing = before;
    if (trouble === 'edits') standing = await this.#edit(restore);
    if (trouble === 'meddling') faults.push(...(await this.#meddle(restore, path)));
    const cancelled = trouble === 'cancel' ? this.#world.call('POST', `${path}/cancel`, {}) : undefined;
    if (cancelled) await sleep(cancelHeadStartMs);
    this.#gate.resolve();
    await cancelled;
    return { ended: await this.#world.untilEnded(path), standing, faults };
  }

  /** Afterwards everything works again. */
  end(): void {
    this.#gate.resolve();
    this.#world.service.sandbox?.control.clearFaults();
  }

  /** False when it ended without a write. */
  async #isAboutToWrite(path: string): Promise<boolean> {
    const control = this.#world.service.sandbox?.control;
    while (control) {
      if ((control.faultHits()[0] ?? 0) > 0) return true;
      const { status } = await this.#world.get(path);
      if (status !== 'pending' && status !== 'running') return false;
      await sleep(pollMs);
    }
    return false;
  }

  async #edit(restore: RestoreFact): Promise<State> {
    const { live } = this.#world.projects[restore.target]!;
    await live.edit(this.#step.edits);
    this.#model.noteEdits(
      restore.target,
      this.#step.edits.map(({ path }) => path),
    );
    return live.read();
  }

  /** What a restore reads and what it has saved cannot be deleted or moved meanwhile. */
  async #meddle(restore: RestoreFact, path: string): Promise<string[]> {
    const { safetyBackupId } = await this.#world.get(path);
    const faults: string[] = [];
    for (const id of [...restore.backupIds, safetyBackupId].filter((one) => one !== null)) {
      const answer = await this.#world.call('DELETE', `/backups/${id}`);
      if (answer.status < 300) faults.push(`${id} was deleted while ${restore.id} needed it`);
    }
    if (restore.moment) faults.push(...(await this.#meddleWithLog(restore.moment, restore.id)));
    return faults;
  }

  /** Whatever else can be deleted, the moment's own data cannot. */
  async #meddleWithLog({ projectId, at }: MomentRead, restoreId: string): Promise<string[]> {
    const gone = await this.#world.call('POST', `/projects/${projectId}/pitr/disable`, { deleteLog: true });
    for (const { id } of await this.#world.get('/backups?limit=200'))
      await this.#world.call('DELETE', `/backups/${id}`);
    return gone.status < 300 ? [`the log was deleted while ${restoreId} brought back ${at}`] : [];
  }
}
