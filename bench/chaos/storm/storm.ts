import { pause } from '../world.ts';
import { Actors } from './actors.ts';
import { judge } from './judge.ts';
import { Ledger } from './ledger.ts';
import { pick } from './shop.ts';
import { liftAll, troubles } from './troubles.ts';
import { StormWorld } from './world.ts';

/** Between two troubles, at most; they overlap. */
const restMs = 5000;
const troubleMs = 8000;
const clockSkewMsMax = 3000;
const answersFailed = 0.2;

/**
 * Two organizations at work for some minutes while everything goes wrong that can. Afterwards every backup that was
 * acknowledged restores to its instant, every other one says why, every end is told or stands among the failed
 * deliveries, every due time has its run, nothing hangs, and nobody has seen what belongs to the other.
 */
export async function chaosStorm({ minutes }: { minutes: number }): Promise<boolean> {
  const world = await StormWorld.open(clockSkewMsMax);
  const ledger = new Ledger();
  if (!world.isDiskSmall) console.log('The disk cannot be filled here: mounting one is not allowed.');
  try {
    for (const { hookPath } of world.tenants)
      world.receiver.answer(hookPath, (_, response) => {
        response.writeHead(Math.random() < answersFailed ? 500 : 200).end();
      });
    await rage(world, ledger, minutes * 60_000);
    await judge(world, ledger);
    console.log(
      JSON.stringify({ name: 'chaos storm', minutes, wrong: ledger.wrongs.length, ...ledger.counts }, null, 1),
    );
    return ledger.wrongs.length === 0;
  } finally {
    await world.close();
  }
}

async function rage(world: StormWorld, ledger: Ledger, lastsMs: number): Promise<void> {
  const actors = new Actors(world.tenants, ledger);
  actors.start();
  const endMs = performance.now() + lastsMs;
  // Two at a time, so that they meet.
  await Promise.all([torment(world, ledger, endMs), torment(world, ledger, endMs)]);
  liftAll(world);
  await actors.stop();
}

const underWay = new Set<string>();

async function torment(world: StormWorld, ledger: Ledger, endMs: number): Promise<void> {
  while (performance.now() < endMs) {
    await pause(Math.random() * restMs);
    const name = pick(Object.keys(troubles).filter((one) => !underWay.has(thingOf(one))));
    underWay.add(thingOf(name));
    ledger.count(`trouble: ${name}`);
    await troubles[name]!(world, () => pause(1000 + Math.random() * troubleMs));
    underWay.delete(thingOf(name));
  }
}

/** Two troubles with one thing at once would end each other. */
function thingOf(trouble: string): string {
  return (
    ['PostgreSQL', 'torage', 'Firestore', 'disk', 'API', 'scheduler', 'worker'].find((thing) =>
      trouble.includes(thing),
    ) ?? 'target'
  );
}
