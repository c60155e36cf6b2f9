import { WebhookBenchHouse } from '../webhooks/house.ts';
import { judge } from '../webhooks/verdict.ts';

const kills = Number(process.env.CHAOS_KILLS ?? 30);
/** Events written while one process lives; at five webhooks each, more than it gets to deliver. */
const eventsPerLife = Number(process.env.CHAOS_EVENTS ?? 200);
const eventsPerSecond = 200;
/** A process dies when its endpoints have accepted this many deliveries, at random: in the middle of its work. */
const acceptedAtDeath = { least: 1, most: 500 };
const lifeMsMax = 60_000;

/** Kills the delivering process again and again, without warning, while events are written: not one may be lost. */
export async function chaosWebhooks(): Promise<boolean> {
  const house = await WebhookBenchHouse.open();
  try {
    await house.furnish(10, 5, (index) => (index % 5 === 4 ? (index % 2 === 0 ? 'fail' : 'hang') : 'ok'));
    const events = new Map(house.organizations.map((id) => [id, [] as string[]]));
    for (let count = 1; count <= kills; count++) {
      const accepted = await liveAndDie(house, events);
      const written = [...events.values()].flat().length;
      console.log(`kill ${count}: ${accepted} deliveries accepted in this life, ${written} events written so far`);
    }
    return await settle(house, events);
  } finally {
    await house.close();
  }
}

async function liveAndDie(house: WebhookBenchHouse, events: Map<string, string[]>): Promise<number> {
  const { requests: before } = await house.ask('count');
  const writing = house.emitPaced(eventsPerLife, eventsPerSecond);
  const worker = await house.startWorker();
  const enough = before + acceptedAtDeath.least + Math.floor(Math.random() * acceptedAtDeath.most);
  const deadlineMs = performance.now() + lifeMsMax;
  let { requests } = await house.ask('count');
  while (requests < enough && performance.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    requests = (await house.ask('count')).requests;
  }
  await house.endWorker(worker, 'SIGKILL');
  for (const [organizationId, ids] of await writing) events.get(organizationId)?.push(...ids);
  return (await house.ask('count')).requests - before;
}

/** One last process delivers what is left; leases of the killed ones run out meanwhile. */
async function settle(house: WebhookBenchHouse, events: Map<string, string[]>): Promise<boolean> {
  const worker = await house.startWorker();
  const healthy = house.webhooks.filter((webhook) => webhook.behaviour === 'ok');
  const expected = healthy.reduce((sum, webhook) => sum + (events.get(webhook.organizationId)?.length ?? 0), 0);
  await house.untilAccepted(expected, 180_000);
  const report = await house.ask('report');
  await house.endWorker(worker, 'SIGTERM');
  const verdict = await judge(house, events, report);
  console.log(JSON.stringify(verdict));
  const kept = verdict.missing + verdict.lost + verdict.doubled + verdict.wrongTenant + verdict.badSignatures === 0;
  console.log(`${kept ? 'ok  ' : 'FAIL'} nothing lost after ${kills} kills`);
  return kept;
}

if (import.meta.main) process.exitCode = (await chaosWebhooks()) ? 0 : 1;
