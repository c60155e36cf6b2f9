import { readFile } from 'node:fs/promises';
import { WebhookBenchHouse } from '../webhooks/house.ts';
import { pause } from './world.ts';

const mib = 1024 * 1024;
const growthMibMax = 300;
const neighbourMsMax = 5000;
const neighbourEveryMs = 1000;

/**
 * One organization with as many webhooks as the operator may allow, and hundreds of events at once: millions of deliveries.
 * The single webhook of another goes on being told of each event soon, and the delivering process stays small.
 */
export async function chaosBacklog(options: { hooks: number; events: number; seconds: number }): Promise<boolean> {
  const house = await WebhookBenchHouse.open();
  try {
    await house.furnish(1, options.hooks, () => 'ok');
    await house.furnish(1, 1, () => 'ok');
    const [many, neighbour] = house.organizations as [string, string];
    for (let count = 0; count < options.events; count += 1) await house.emit(many);
    const worker = await house.startWorker();
    await house.emit(neighbour);
    await pause(2000);
    const residentMib = async () =>
      Number(/VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${worker.pid}/status`, 'utf8'))?.[1]) / 1024;
    const before = await residentMib();
    const [waits, sizes]: [number[], number[]] = [[], []];
    const untilMs = performance.now() + options.seconds * 1000;
    while (performance.now() < untilMs) {
      waits.push(await deliveredAfterMs(house, await house.emit(neighbour)));
      sizes.push(await residentMib());
      await pause(neighbourEveryMs);
    }
    const [progress] = await house.rows<{ dispatched: number; deliveries: number; delivered: number; mib: number }>(
      `select (select count(*)::int from outbox_events where dispatched_at is not null) as dispatched,
              count(*)::int as deliveries, (count(*) filter (where status = 'delivered'))::int as delivered,
              round(pg_total_relation_size('webhook_deliveries') / ${mib})::int as mib from webhook_deliveries`,
    );
    await house.endWorker(worker, 'SIGTERM');
    const slowestMs = Math.round(Math.max(...waits));
    const growthMib = Math.round(Math.max(...sizes) - before);
    console.log(
      JSON.stringify({
        name: 'chaos backlog',
        ...options,
        neighbourEvents: waits.length,
        slowestMs,
        growthMib,
        ...progress,
      }),
    );
    return slowestMs <= neighbourMsMax && growthMib <= growthMibMax;
  } finally {
    await house.close();
  }
}

async function deliveredAfterMs(house: WebhookBenchHouse, eventId: string): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const found = await house.rows<{ id: string }>(
      `select id from webhook_deliveries where event_id = '${eventId}' and status = 'delivered'`,
    );
    const waitedMs = performance.now() - startedMs;
    if (found.length > 0 || waitedMs > 60_000) return waitedMs;
    await pause(20);
  }
}
