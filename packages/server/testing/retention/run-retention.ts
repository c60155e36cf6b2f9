import { exported, isSameAs } from '../model/backup-steps.ts';
import { textOf, type Value } from '../model/documents.ts';
import { LiveDatabase } from '../model/live-database.ts';
import { dayMs, type Fact, type Rules, wantedIds } from './facts.ts';
import { drawHistory, type RetentionHistory, type RetentionStep } from './history.ts';
import { type RetentionService, RetentionWorld, rulesBody } from './world.ts';

type Documents = ReadonlyMap<string, Value>;

interface Life {
  readonly world: RetentionWorld;
  /** What each backup must show for as long as it exists. */
  readonly shown: Map<string, Documents>;
  readonly deleted: Set<string>;
  known: Fact[];
  rules: Rules;
}

export interface RetentionResult {
  histories: number;
  steps: number;
  backups: number;
  removed: number;
  faults: string[];
}

/**
 * Random histories of backups, time, holds, locks, deletions and rules; after every step exactly the right backups are
 * kept.
 */
export async function runRetention(
  service: RetentionService,
  options: {
    histories: number;
    seed: number;
    steps: { least: number; most: number };
    log?: (line: string) => void;
  },
): Promise<RetentionResult> {
  const result: RetentionResult = { histories: 0, steps: 0, backups: 0, removed: 0, faults: [] };
  for (let n = 0; n < options.histories; n++) {
    const seed = options.seed + n;
    const history = drawHistory(seed, options.steps);
    const { faults, backups, removed } = await live(service, `retention-${seed}`, history);
    result.histories++;
    result.steps += history.steps.length;
    result.backups += backups;
    result.removed += removed;
    result.faults.push(...faults.map((fault) => `seed ${seed}: ${fault}`));
    options.log?.(
      `${n + 1} histories, ${result.steps} steps, ${result.removed} removed, ${result.faults.length} faults`,
    );
  }
  return result;
}

async function live(service: RetentionService, name: string, { rules, fullEvery, steps }: RetentionHistory) {
  const world = await RetentionWorld.create(service, name, rules, fullEvery);
  const life: Life = { world, shown: new Map(), deleted: new Set(), known: [], rules };
  const faults: string[] = [];
  try {
    for (const [index, step] of [{ do: 'run' } as const, ...steps].entries()) {
      await carryOut(life, step);
      await world.settle();
      const found = await judge(life);
      if (found.length > 0)
        return { ...counts(life), faults: [`step ${index} ${JSON.stringify(step)}: ${found.join('; ')}`] };
    }
    faults.push(...(await endFaults(life, name)));
  } catch (error) {
    faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    await world.close();
  }
  return { ...counts(life), faults };
}

function counts({ shown, known }: Life) {
  return { backups: shown.size, removed: shown.size - known.length };
}

async function carryOut(life: Life, step: RetentionStep): Promise<void> {
  const { world, known } = life;
  const picked = 'pick' in step ? known[step.pick % Math.max(1, known.length)] : undefined;
  if ('pick' in step && !picked) return;
  switch (step.do) {
    case 'edit':
      return world.live.edit(step.edits);
    case 'later':
      life.known = known.map((fact) => longerAgo(fact, step.days));
      return world.passDays(step.days);
    case 'run':
      return remember(life, (await world.must('POST', `/schedules/${world.scheduleId}/run`)).id, false);
    case 'back up': {
      const retention = step.days === null ? {} : { retention: step.days };
      const body = { projectId: world.projectId, type: step.type, ...retention };
      return remember(life, (await world.must('POST', '/backups', body)).id, step.type === 'synthetic');
    }
    case 'rules':
      life.rules = step.rules;
      return world.must('PATCH', `/schedules/${world.scheduleId}`, rulesBody(step.rules));
    case 'hold':
      return world.must(step.isHeld ? 'POST' : 'DELETE', `/backups/${picked!.id}/hold`);
    case 'lock':
      await world.service.database.query(
        `update backups set locked_until = now() + make_interval(hours => 24 * $2) where id = $1`,
        [picked!.id, step.days],
      );
      return;
    case 'delete': {
      const answer = await world.call('DELETE', `/backups/${picked!.id}`);
      if (answer.status < 300) life.deleted.add(picked!.id);
      return;
    }
    case 'restore':
      return restoreElsewhere(life, picked!.id, `${world.live.projectId}-${step.pick}`);
  }
}

/** The facts of a backup, some days later. */
function longerAgo(fact: Fact, days: number): Fact {
  const ago = (timeMs: number) => timeMs - days * dayMs;
  const lockedUntilMs = fact.lockedUntilMs === null ? null : ago(fact.lockedUntilMs);
  return { ...fact, countsFromMs: ago(fact.countsFromMs), lockedUntilMs };
}

/** Nobody edits while a backup runs, so it shows the present contents; a merge shows those of an earlier one. */
async function remember(life: Life, backupId: string, isMerged: boolean): Promise<void> {
  const { world, shown } = life;
  const ended = await world.untilEnded(`/backups/${backupId}`);
  if (ended.status !== 'completed')
    throw new Error(`${backupId} ended ${ended.status}: ${JSON.stringify(ended.error)}`);
  const documents = isMerged
    ? await exported(world, backupId)
    : new Map([...(await world.live.read())].map(([path, { value }]) => [path, value]));
  if (isMerged && ![...shown.values()].some((known) => isSameAs(known, documents)))
    throw new Error(`${backupId} was merged from what no backup shows`);
  shown.set(backupId, documents);
}

/** Removed backups had to be removed, and present ones have to be kept. */
async function judge(life: Life): Promise<string[]> {
  const { world, shown, deleted, rules } = life;
  const before = life.known;
  let facts = await world.facts();
  let stays = facts.filter(({ id }) => !wantedIds(facts, rules, Date.now()).has(id));
  if (stays.length > 0) {
    await world.lookNow();
    facts = await world.facts();
    stays = facts.filter(({ id }) => !wantedIds(facts, rules, Date.now()).has(id));
  }
  const present = new Set(facts.map(({ id }) => id));
  const gone = before.filter(({ id }) => !present.has(id) && !deleted.has(id));
  const wanted = wantedIds([...facts, ...gone], rules, Date.now());
  life.known = facts;
  for (const { id, standsFor } of facts)
    if (standsFor !== null && !shown.has(id)) shown.set(id, shown.get(standsFor) as Documents);
  return [
    ...stays.map(({ id }) => `${id} is due and stays`),
    ...gone.filter(({ id }) => wanted.has(id)).map(({ id }) => `${id} is gone and had to stay`),
  ];
}

/** Every kept backup shows its snapshot, one of them is restored, and no object is left without an owner. */
async function endFaults(life: Life, name: string): Promise<string[]> {
  const { world, known, shown } = life;
  const faults: string[] = [];
  for (const { id } of known) {
    const now = await exported(world, id);
    if (!isSameAs(now, shown.get(id)!)) faults.push(`${id} shows ${textOf([...now])}`);
  }
  for (const [index, { id }] of known.entries())
    if (index < 2) await restoreElsewhere(life, id, `${name}-end-${index}`);
  await world.settle();
  return [...faults, ...(await world.orphans()).map((id) => `objects of ${id} have no owner`)];
}

async function restoreElsewhere({ world, shown }: Life, backupId: string, name: string): Promise<void> {
  const targetProjectId = await world.addScratch(name);
  const options = { safetyBackup: false };
  const { id } = await world.must('POST', '/backups/restore', { backupId, targetProjectId, options });
  const ended = await world.untilEnded(`/backups/restore/${id}`);
  if (ended.status !== 'completed') throw new Error(`${backupId} did not come back: ${JSON.stringify(ended.error)}`);
  const live = new LiveDatabase(name, world.service.firestore.address);
  const found = new Map([...(await live.read())].map(([path, { value }]) => [path, value]));
  await live.close();
  if (!isSameAs(found, shown.get(backupId)!)) throw new Error(`${backupId} came back as ${textOf([...found])}`);
}
