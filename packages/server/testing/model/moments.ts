import { setTimeout as sleep } from 'node:timers/promises';
import { exported, isSameAs, plainMap } from './backup-steps.ts';
import { type Documents, mergedValue, paths, textOf, type Value } from './documents.ts';
import type { Edit } from './live-database.ts';
import { type How, histories, type MomentStep } from './moment-steps.ts';
import { type Broken, type ModelSettings, runHistories } from './run-model.ts';
import { type Answer, type ModelService, World } from './world.ts';

interface Moment {
  readonly at: string;
  readonly documents: Documents;
  /** Around an interruption that is too short for a gap, of several quick versions the last alone may have been heard. */
  isBlurred: boolean;
}

const tasks = ['pitr bases', 'pitr retention', 'pitr upkeep', 'retention'];
const reachTimeoutMs = 60_000;
const looksForOne = 20;
const lookAgainMs = 60;
/** Apart from what is written before and after it, by the clock of the database, which is this machine's. */
const apartMs = 8;
/** Interruptions of this length are no gaps. */
const blurMs = 10_500;

/** So many moments are looked at after each step that tidies up, and all of them at the end. */
const looksMax = 8;

const settlingLooks = 20;
const settlingMs = 500;

/** How many moments were shown, and how many refused, in all runs so far. */
export const momentCounts = { shown: 0, refused: 0 };

export function runMomentsModel(service: ModelService, settings: ModelSettings): Promise<Broken[]> {
  return runHistories(histories, (steps) => live(service, steps), settings);
}

async function live(service: ModelService, steps: readonly MomentStep[]): Promise<string | undefined> {
  const world = await World.create(service);
  const history = new History(world);
  try {
    for (const [index, step] of steps.entries()) {
      const faults = await history.carryOut(step);
      if (faults.length > 0) return `step ${index}: ${faults.join('\n')}`;
    }
    const faults = await history.lastFaults();
    return faults.length > 0 ? `at the end: ${faults.join('\n')}` : undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    await history.close();
  }
}

class History {
  readonly #world: World;
  readonly #moments: Moment[] = [];
  readonly #backups = new Map<string, Documents>();
  /** Something was out of reach: jobs of that time may have failed. */
  #isCut = false;

  constructor(world: World) {
    this.#world = world;
  }

  async carryOut(step: MomentStep): Promise<string[]> {
    switch (step.do) {
      case 'edit':
        return this.#edit(step.edits);
      case 'burst':
        for (const edit of step.edits) await this.#edit([edit]);
        return [];
      case 'switch on':
        return this.#switchOn(step.destination, step.days);
      case 'switch off':
        this.#blurBefore();
        await this.#world.call('POST', this.#pitr('/disable'), { deleteLog: step.deleteLog });
        return [];
      case 'wait':
        await sleep(step.ms);
        return [];
      case 'catch up':
        return (await this.#isOn()) ? this.#catchUp() : [];
      case 'back up':
        return this.#backUp(step.type);
      case 'delete backup':
        return this.#deleteBackup(step.pick);
      case 'go back':
        return this.#goBack(step.pick, step.how, step.isUndone);
      case 'cut':
        return this.#cut(step.what, step.edits);
      case 'later':
        await this.#world.inDays(step.days, () => this.#runTasks());
        return this.#faults();
      default:
        return this.#tidy(step);
    }
  }

  /** Every moment and every backup, and that capture goes on. */
  async lastFaults(): Promise<string[]> {
    const faults = (await this.#isOn()) ? await this.#catchUp() : [];
    return [
      ...faults,
      ...(await this.#faults(this.#moments.length)),
      ...(await this.#world.foreignObjectsThatChanged()),
    ];
  }

  async close(): Promise<void> {
    await this.#world.call('POST', this.#pitr('/disable'), { deleteLog: true });
    await this.#world.close();
  }

  get #project() {
    return this.#world.projects[0]!;
  }

  #pitr(rest = ''): string {
    return `/projects/${this.#project.id}/pitr${rest}`;
  }

  async #isOn(): Promise<boolean> {
    return (await this.#world.get(this.#pitr())).enabled;
  }

  async #edit(edits: readonly Edit[]): Promise<string[]> {
    await this.#project.live.edit(edits);
    await this.#note();
    return [];
  }

  async #note(): Promise<Moment> {
    await sleep(apartMs);
    const at = new Date().toISOString();
    await sleep(apartMs);
    const moment = { at, documents: await this.#documents(), isBlurred: this.#isCut };
    this.#moments.push(moment);
    return moment;
  }

  async #documents(): Promise<Documents> {
    return new Map([...(await this.#project.live.read())].map(([path, { value }]) => [path, value]));
  }

  async #switchOn(destination: number, retentionDays: number): Promise<string[]> {
    const storageDestinationId = this.#world.destinations[destination]!.id;
    const answer = await this.#world.call('POST', this.#pitr('/enable'), { storageDestinationId, retentionDays });
    const isFair = answer.status === 200 || answer.body.error.code === 'INVALID_STATE' || this.#isCut;
    return isFair ? [] : [`it was not switched on: ${answer.text}`];
  }

  /** Whatever happened, what is now can be reached soon. */
  async #catchUp(): Promise<string[]> {
    for (const deadline = performance.now() + reachTimeoutMs; performance.now() < deadline; ) {
      const moment = await this.#note();
      const view = await this.#untilReached(moment.at);
      if (view) {
        this.#isCut = false;
        return this.#viewFaults(moment, view);
      }
      // It may lie in a gap: then a later one does not.
      this.#moments.pop();
      await this.#world.service.app.tasks.runNow('pitr bases');
    }
    return [`nothing is reached any more: ${JSON.stringify(await this.#world.get(this.#pitr()))}`];
  }

  async #untilReached(at: string): Promise<Documents | undefined> {
    for (let look = 0; look < looksForOne; look++) {
      const view = await this.#view(at);
      if (view) return view;
      await sleep(lookAgainMs);
    }
    return undefined;
  }

  async #backUp(type: string): Promise<string[]> {
    const answer = await this.#world.call('POST', '/backups', { projectId: this.#project.id, type });
    if (answer.status !== 202) return type === 'synthetic' ? [] : [`a backup was refused: ${answer.text}`];
    const ended = await this.#world.untilEnded(`/backups/${answer.body.data.id}`);
    if (ended.status !== 'completed')
      return this.#isCut || type === 'synthetic' ? [] : [`a backup failed: ${JSON.stringify(ended.error)}`];
    const shown = await exported(this.#world, ended.id);
    if (type !== 'synthetic') this.#backups.set(ended.id, await this.#documents());
    else if (![...this.#moments, ...this.#asMoments()].some(({ documents }) => isSameAs(documents, shown)))
      return [`${ended.id} was merged into what never stood there: ${textOf([...shown])}`];
    else this.#backups.set(ended.id, shown);
    return this.#backupFaults();
  }

  #asMoments(): Moment[] {
    return [...this.#backups].map(([at, documents]) => ({ at, documents, isBlurred: false }));
  }

  async #deleteBackup(pick: number): Promise<string[]> {
    const listed = (await this.#world.get('/backups?limit=200')) as { id: string }[];
    const one = listed[pick % listed.length];
    if (one) await this.#world.call('DELETE', `/backups/${one.id}`);
    return this.#faults();
  }

  async #goBack(pick: number, how: How, isUndone: boolean): Promise<string[]> {
    const moment = this.#moments[pick % this.#moments.length];
    if (!moment) return [];
    const before = await this.#documents();
    const answer = await this.#world.call('POST', '/backups/restore', {
      projectId: this.#project.id,
      pointInTime: moment.at,
      options: how,
    });
    if (answer.status !== 202) return this.#refusalFaults(moment, answer);
    const { id } = answer.body.data;
    const ended = await this.#world.untilEnded(`/backups/restore/${id}`);
    if (ended.status !== 'completed') return this.#isCut ? [] : [`a restore failed: ${JSON.stringify(ended.error)}`];
    const { documents } = await this.#note();
    const expected = restored(before, moment.documents, how);
    if (!moment.isBlurred && !isSameAs(documents, expected))
      return [`${moment.at} came back as ${textOf([...documents])} instead of ${textOf([...expected])}`];
    return isUndone ? this.#undo(id, before) : [];
  }

  async #undo(id: string, before: Documents): Promise<string[]> {
    const answer = await this.#world.call('POST', `/backups/restore/${id}/undo`, {});
    if (answer.status !== 202) return [`an undo was refused: ${answer.text}`];
    const ended = await this.#world.untilEnded(`/backups/restore/${answer.body.data.id}`);
    if (ended.status !== 'completed') return this.#isCut ? [] : [`an undo failed: ${JSON.stringify(ended.error)}`];
    const { documents } = await this.#note();
    return isSameAs(documents, before)
      ? []
      : [`an undo left ${textOf([...documents])} instead of ${textOf([...before])}`];
  }

  #blurBefore(): void {
    this.#isCut = true;
    for (const moment of this.#moments) if (Date.parse(moment.at) > Date.now() - blurMs) moment.isBlurred = true;
  }

  /** Something is out of reach while people go on. */
  async #cut(what: 'streams' | 'bucket', edits: readonly Edit[]): Promise<string[]> {
    const { sandbox, s3 } = this.#world.service;
    this.#blurBefore();
    if (what === 'bucket') s3.faults.set({ errorRate: 1 });
    else sandbox!.control.addFault({ method: 'Listen', status: 'UNAVAILABLE' });
    try {
      for (const edit of edits) await this.#edit([edit]);
      await sleep(300);
    } finally {
      s3.faults.clear();
      sandbox!.control.clearFaults();
    }
    return [];
  }

  async #tidy(step: Extract<MomentStep, { do: 'migrate' | 'sweep' | 'rescan' }>): Promise<string[]> {
    const { destinations } = this.#world;
    const { id } = destinations[step.do === 'migrate' ? step.from : step.destination]!;
    const body = step.do === 'migrate' ? { toStorageDestinationId: destinations[step.to]!.id } : undefined;
    const answer = await this.#world.call('POST', `/storage-destinations/${id}/${step.do}`, body);
    if (answer.status !== 202) return [];
    const task = await this.#world.untilEnded(`/storage-destinations/${id}/tasks/${answer.body.data.id}`);
    const faults = task.status === 'completed' || this.#isCut ? [] : [`${step.do}: ${JSON.stringify(task.error)}`];
    return [...faults, ...(await this.#faults())];
  }

  async #runTasks(): Promise<void> {
    for (const task of tasks) await this.#world.service.app.tasks.runNow(task);
  }

  async #faults(looks = looksMax): Promise<string[]> {
    const faults = await this.#backupFaults();
    for (const moment of spread(this.#moments, looks)) {
      const answer = await this.#world.call('GET', this.#pitr(`/view/collections?at=${moment.at}`));
      if (answer.status !== 200) {
        faults.push(...(await this.#refusalFaults(moment, answer)));
        continue;
      }
      const view = await this.#view(moment.at);
      // It may have gone between the two questions.
      if (view) faults.push(...this.#viewFaults(moment, view));
    }
    return faults;
  }

  /** What is refused is said to be out of reach. */
  async #refusalFaults({ at }: Moment, answer: Answer): Promise<string[]> {
    if (this.#isCut && answer.status === 503) return [];
    if (answer.body?.error?.code !== 'POINT_IN_TIME_UNAVAILABLE') return [`${at} was refused: ${answer.text}`];
    momentCounts.refused += 1;
    // What was told just before may have come into reach; a collection that capture is about to follow is a gap in a moment.
    for (let look = 0; look < settlingLooks; look += 1) {
      if (!(await this.#isToldCovered(at)) || (await this.#view(at))) return [];
      await sleep(settlingMs);
    }
    return [`${at} is refused (${answer.body.error.message}) and said to be covered`];
  }

  async #isToldCovered(at: string): Promise<boolean> {
    const { coveredFrom, coveredTo, gaps } = await this.#world.get(this.#pitr());
    const isCovered = coveredFrom !== null && coveredFrom <= at && at <= coveredTo;
    return isCovered && !gaps.some(({ from, to }: { from: string; to: string }) => from <= at && at <= to);
  }

  #viewFaults({ at, documents, isBlurred }: Moment, view: Documents): string[] {
    momentCounts.shown += 1;
    if (isSameAs(view, documents) || (isBlurred && this.#isNear(at, view))) return [];
    return [`${at} is shown as ${textOf([...view])} instead of ${textOf([...documents])}`];
  }

  /** Every document stood there so shortly before or after. */
  #isNear(at: string, view: Documents): boolean {
    const near = this.#moments.filter((one) => Math.abs(Date.parse(one.at) - Date.parse(at)) < blurMs);
    return paths.every((path) => near.some(({ documents }) => textOf(documents.get(path)) === textOf(view.get(path))));
  }

  /** Everything at that moment, or undefined where it cannot be reached. */
  async #view(at: string): Promise<Documents | undefined> {
    const found = new Map<string, Value>();
    for (const collection of collections) {
      const asked = `/view/documents?at=${at}&collection=${collection}&limit=200`;
      const answer = await this.#world.call('GET', this.#pitr(asked));
      if (answer.status !== 200 && answer.body.error.code !== 'COLLECTION_NOT_FOUND') return undefined;
      for (const { path, fields } of answer.status === 200 ? answer.body.data : []) found.set(path, plainMap(fields));
    }
    return found;
  }

  /** Every backup that is there shows what was there when it was made. */
  async #backupFaults(): Promise<string[]> {
    const listed = (await this.#world.get('/backups?limit=200')) as { id: string; status: string }[];
    const faults: string[] = [];
    for (const [id, documents] of this.#backups) {
      const record = listed.find((one) => one.id === id);
      if (!record) {
        this.#backups.delete(id);
        continue;
      }
      const shown = await exported(this.#world, id);
      if (!isSameAs(shown, documents))
        faults.push(`${id} shows ${textOf([...shown])} instead of ${textOf([...documents])}`);
    }
    return faults;
  }
}

const collections = [...new Set(paths.map((path) => path.slice(0, path.lastIndexOf('/'))))];

/** As many as that, from the first to the last. */
function spread<Item>(items: readonly Item[], max: number): Item[] {
  const step = Math.max(1, items.length / max);
  return Array.from({ length: Math.min(max, items.length) }, (_, index) => items[Math.floor(index * step)]!);
}

function restored(before: Documents, moment: Documents, { mergeMode, deleteExtra }: How): Documents {
  const expected = new Map(deleteExtra ? [] : before);
  for (const [path, value] of moment) {
    const stands = before.get(path);
    if (mergeMode === 'overwrite' || !stands) expected.set(path, value);
    else expected.set(path, mergeMode === 'merge' ? mergedValue(stands, value) : stands);
  }
  return expected;
}
