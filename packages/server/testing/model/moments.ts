import { setTimeout as sleep } from 'node:timers/promises';
import { exported, isSameAs, plainMap } from './backup-steps.ts';
import { type Documents, paths, textOf, type Value } from './documents.ts';
import type { Edit } from './live-database.ts';
import { Model } from './model.ts';
import { blurMs, type Moment, Moments } from './moment.ts';
import { type GoBackStep, type MomentStep, momentHistoryOf } from './moment-steps.ts';
import { restoreFrom } from './restore-steps.ts';
import { type Broken, type ModelSettings, runHistories } from './run-model.ts';
import { Ambush, type Troubled } from './trouble.ts';
import { resume, undo } from './undo-steps.ts';
import { type Answer, type ModelService, World } from './world.ts';

const tasks = ['pitr bases', 'pitr retention', 'pitr upkeep', 'retention'];
const reachTimeoutMs = 180_000;
const looksForOne = 20;
/** Another implementation of Firestore seldom reports its progress by itself. */
const foreignLooksForOne = 200;
const recheckMs = 60;
/** The distance from earlier and later writes, by the database's clock, which is this machine's. */
const apartMs = 8;
/** A segment of the log, on a busy machine. */
const youngMs = 1_000;

/** This many moments are checked after each maintenance step, and all of them at the end. */
const looksMax = 8;

const settlingLooks = 20;
const settlingMs = 500;

/** How many moments were shown, refused and restored, and how many restores were undone, in all runs so far. */
export const momentCounts = { steps: 0, shown: 0, refused: 0, restored: 0, undone: 0 };

export function runMomentsModel(service: ModelService, settings: ModelSettings): Promise<Broken[]> {
  return runHistories(momentHistoryOf(service.sandbox !== undefined), (steps) => live(service, steps), settings);
}

async function live(service: ModelService, steps: readonly MomentStep[]): Promise<string | undefined> {
  const world = await World.create(service);
  const history = new History(world);
  try {
    for (const [index, step] of steps.entries()) {
      momentCounts.steps += 1;
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
  readonly #model = new Model();
  readonly #moments = new Moments();
  readonly #backups = new Map<string, Documents>();
  /** When each collection group was first seen. */
  readonly #groups = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  async carryOut(step: MomentStep): Promise<string[]> {
    switch (step.do) {
      case 'edit':
        return this.#edit(step.edits, step.project);
      case 'burst':
        for (const edit of step.edits) await this.#edit([edit], step.project);
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
        return this.#goBack(step);
      case 'undo':
        return this.#ambushed(step, (ambush) => undo(this.#world, this.#model, step, ambush));
      case 'resume':
        return this.#ambushed(step, (ambush) => resume(this.#world, this.#model, step, ambush));
      case 'cut':
        return this.#cut(step.what, step.edits);
      case 'later':
        await this.#world.inDays(step.days, () => this.#runTasks());
        return this.#faults();
      default:
        return this.#tidy(step);
    }
  }

  /** Checks every moment and every backup, and that capture continues. */
  async lastFaults(): Promise<string[]> {
    const faults = (await this.#isOn()) ? await this.#catchUp() : [];
    return [
      ...faults,
      ...(await this.#faults(this.#moments.all.length)),
      ...(await this.#world.foreignObjectsThatChanged()),
    ];
  }

  async close(): Promise<void> {
    for (const { status, undoOf } of this.#model.restores)
      if (status === 'completed') momentCounts[undoOf ? 'undone' : 'restored'] += 1;
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

  /** Something was unreachable, so jobs of that time may have failed. */
  get #isCut(): boolean {
    return this.#model.isAway;
  }

  async #edit(edits: readonly Edit[], project = 0): Promise<string[]> {
    this.#moments.close();
    await this.#world.projects[project]!.live.edit(edits);
    this.#model.noteEdits(
      project,
      edits.map(({ path }) => path),
    );
    await this.#note();
    return [];
  }

  async #note(): Promise<Moment> {
    await sleep(apartMs);
    const at = new Date().toISOString();
    await sleep(apartMs);
    const documents = await this.#documents();
    const moment = { at, documents, isBlurred: this.#isCut || this.#isAnyGroupYoung(documents) };
    this.#moments.all.push(moment);
    return moment;
  }

  /** In the first seconds of a new collection, documents that came and went between two marks are not captured. */
  #isAnyGroupYoung(documents: Documents): boolean {
    const now = performance.now();
    for (const path of documents.keys()) {
      const group = path.split('/').at(-2)!;
      this.#groups.set(group, this.#groups.get(group) ?? now);
    }
    return [...this.#groups.values()].some((seenMs) => now - seenMs < youngMs);
  }

  async #documents(): Promise<Documents> {
    return new Map([...(await this.#project.live.read())].map(([path, { value }]) => [path, value]));
  }

  async #switchOn(destination: number, retentionDays: number): Promise<string[]> {
    const storageDestinationId = this.#world.destinations[destination]!.id;
    // Existing collections are captured from the first moment on.
    for (const group of this.#groups.keys()) this.#groups.set(group, 0);
    const answer = await this.#world.call('POST', this.#pitr('/enable'), { storageDestinationId, retentionDays });
    const isFair = answer.status === 200 || answer.body.error.code === 'INVALID_STATE' || this.#isCut;
    return isFair ? [] : [`it was not switched on: ${answer.text}`];
  }

  /** Whatever happened, the present can be restored soon. */
  async #catchUp(): Promise<string[]> {
    for (const deadline = performance.now() + reachTimeoutMs; performance.now() < deadline; ) {
      const moment = await this.#note();
      const view = await this.#untilReached(moment.at);
      if (view) {
        this.#model.isAway = false;
        return this.#viewFaults(moment, view);
      }
      // It may be in a gap; then a later one is not.
      this.#moments.all.pop();
      // A captured change starts a new search for unknown collections.
      await this.#edit([{ path: 'users/3', isDelete: false }]);
      await this.#world.service.app.tasks.runNow('pitr bases');
    }
    return [`nothing is reached any more: ${JSON.stringify(await this.#world.get(this.#pitr()))}`];
  }

  async #untilReached(at: string): Promise<Documents | undefined> {
    const looks = this.#world.service.sandbox ? looksForOne : foreignLooksForOne;
    for (let look = 0; look < looks; look++) {
      const view = await this.#view(at);
      if (view) return view;
      await sleep(recheckMs);
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
    else if (![...this.#moments.all, ...this.#asMoments()].some(({ documents }) => isSameAs(documents, shown)))
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

  async #goBack(step: GoBackStep): Promise<string[]> {
    const edges = step.isEdge ? this.#moments.at(await this.#edges()) : [];
    const moment = edges[step.pick % edges.length] ?? this.#moments.pick(step.pick, step.percent);
    if (!moment) return [];
    const { at, documents } = moment;
    const { id: projectId } = this.#project;
    const backup = { id: at, project: 0, part: {}, documents, ...asBackup };
    const refusalFaults = (answer: Answer) => this.#refusalFaults(moment, answer);
    const wanted = { backup, named: { projectId, pointInTime: at }, moment: { projectId, at, refusalFaults } };
    return this.#ambushed(step, (ambush) => restoreFrom(this.#world, this.#model, step, ambush, wanted));
  }

  /** Where the restorable time begins and ends, as the service reports it. */
  async #edges(): Promise<string[]> {
    const { coveredFrom, coveredTo, gaps } = await this.#world.get(this.#pitr());
    const ends = gaps.flatMap(({ from, to }: { from: string; to: string }) => [from, to]);
    return [coveredFrom, coveredTo, ...ends].filter((one) => one !== null);
  }

  async #ambushed(step: Troubled, work: (ambush: Ambush) => Promise<string[]>): Promise<string[]> {
    const listed = new Set((await this.#world.get('/backups?limit=200')).map(({ id }: { id: string }) => id));
    for (const one of this.#model.backups) one.isGone = !listed.has(one.id);
    this.#moments.close();
    const ambush = new Ambush(this.#world, this.#model, step);
    try {
      return await work(ambush);
    } finally {
      ambush.end();
      await this.#note();
    }
  }

  #blurBefore(): void {
    this.#model.isAway = true;
    this.#moments.blurLast();
  }

  /** Something is unreachable while people continue. */
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
      sandbox?.control.clearFaults();
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
    for (const moment of spread(this.#moments.all, looks)) {
      const answer = await this.#world.call('GET', this.#pitr(`/view/collections?at=${moment.at}`));
      if (answer.status !== 200) {
        faults.push(...(await this.#refusalFaults(moment, answer)));
        continue;
      }
      const view = await this.#view(moment.at);
      // It may have disappeared between the two questions.
      if (view) faults.push(...this.#viewFaults(moment, view));
    }
    return faults;
  }

  /** A refused moment is reported as unreachable. */
  async #refusalFaults({ at }: Moment, answer: Answer): Promise<string[]> {
    if (this.#isCut && answer.status === 503) return [];
    if (answer.body?.error?.code !== 'POINT_IN_TIME_UNAVAILABLE') return [`${at} was refused: ${answer.text}`];
    momentCounts.refused += 1;
    // A collection below an untouched document is found by the next proof, and proofs are rare while nothing is
    // captured.
    if (answer.body.error.message.includes('a collection has appeared')) return [];
    // A moment may become restorable right after a refusal, and a collection that capture is about to follow soon
    // becomes a gap.
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

  /** Every document was in this state shortly before or after. */
  #isNear(at: string, view: Documents): boolean {
    const near = this.#moments.all.filter((one) => Math.abs(Date.parse(one.at) - Date.parse(at)) < blurMs);
    return paths.every((path) => near.some(({ documents }) => textOf(documents.get(path)) === textOf(view.get(path))));
  }

  /** Everything at that moment, or undefined where it cannot be restored. */
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

  /** Every existing backup shows the contents of the time it was made. */
  async #backupFaults(): Promise<string[]> {
    const listed = (await this.#world.get('/backups?limit=200')) as { id: string; status: string }[];
    const faults: string[] = [];
    for (const { id, documents } of this.#model.present) this.#backups.set(id, documents);
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

/** At most `max` items, evenly from the first to the last. */
function spread<Item>(items: readonly Item[], max: number): Item[] {
  const step = Math.max(1, items.length / max);
  return Array.from({ length: Math.min(max, items.length) }, (_, index) => items[Math.floor(index * step)]!);
}

const asBackup = { isSafety: false, retentionDays: null, isHeld: false, isGone: false };
