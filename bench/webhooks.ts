import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type Behaviour, WebhookBenchHouse } from './webhooks/house.ts';
import { judge, percentile } from './webhooks/verdict.ts';

const organizations = 25;
const webhooksEach = 2;
const badOnes: readonly Behaviour[] = ['slow', 'fail', 'hang'];
/** Every fifth webhook is slow, failing or hanging, in turn. */
const behaviourOf = (index: number): Behaviour =>
  index % 5 === 4 ? (badOnes[Math.floor(index / 5) % 3] as Behaviour) : 'ok';

const events = Number(process.env.BENCH_EVENTS ?? 20_000);
const eventsPerSecond = Number(process.env.BENCH_EVENTS_PER_SECOND ?? 320);
const burstEvents = Math.ceil(events / 4);

/**
 * Events at a steady pace to 50 webhooks, a fifth of them bad: nothing lost, nothing at the wrong tenant, healthy
 * endpoints served in time. Then a backlog written while nobody delivered: how fast it drains.
 */
export async function benchWebhooks(): Promise<boolean> {
  const house = await WebhookBenchHouse.open();
  try {
    await house.furnish(organizations, webhooksEach, behaviourOf);
    const steady = await paced(house);
    const drain = await drained(house);
    return steady && drain;
  } finally {
    await house.close();
  }
}

async function paced(house: WebhookBenchHouse): Promise<boolean> {
  const healthy = house.webhooks.filter((webhook) => webhook.behaviour === 'ok').length;
  console.log(
    `${events} events at ${eventsPerSecond}/s to ${house.webhooks.length} webhooks, ${healthy} healthy, ${webhooksEach} per event`,
  );
  const worker = await house.startWorker();
  const emitted = await house.emitPaced(events, eventsPerSecond);
  const expected = healthyDeliveries(house, emitted);
  await house.untilAccepted(expected, 60_000);
  const report = await house.ask('report');
  await end(worker);
  const verdict = await judge(house, emitted, report);
  const p95Ms = percentile(report.latencies, 0.95);
  const seconds = (report.lastAtMs - report.firstAtMs) / 1000;
  console.log(
    `event → delivery at healthy endpoints: p50 ${percentile(report.latencies, 0.5)} ms, p95 ${p95Ms} ms, p99 ${percentile(report.latencies, 0.99)} ms, max ${percentile(report.latencies, 1)} ms`,
  );
  console.log(
    `healthy endpoints took ${report.latencies.length} deliveries in ${seconds.toFixed(1)} s (${Math.round(report.latencies.length / seconds)}/s); ${report.connections} connections`,
  );
  console.log(JSON.stringify(verdict));
  return (
    told(
      'nothing lost, nothing doubled, nothing at the wrong tenant',
      verdict.missing + verdict.lost + verdict.doubled + verdict.wrongTenant + verdict.badSignatures === 0,
    ) && told('p95 of healthy endpoints is at most 2 s', p95Ms <= 2000)
  );
}

async function drained(house: WebhookBenchHouse): Promise<boolean> {
  await house.ask('reset');
  const before = await house.rows<{ count: number }>(
    `select count(*)::int as count from webhook_deliveries d join webhooks w on w.id = d.webhook_id where d.status = 'delivered' and w.url like '%/ok/%'`,
  );
  const emitted = await house.emitPaced(burstEvents, 100_000);
  const expected = healthyDeliveries(house, emitted);
  const worker = await house.startWorker();
  await house.untilAccepted((before[0]?.count ?? 0) + expected, 120_000);
  const report = await house.ask('report');
  const perSecond = Math.round(report.latencies.length / ((report.lastAtMs - report.firstAtMs) / 1000));
  console.log(
    `a backlog of ${burstEvents} events drained at ${perSecond} deliveries/s to healthy endpoints (${report.latencies.length} of ${expected})`,
  );
  await end(worker);
  return told('sustained rate is at least 500 deliveries/s', perSecond >= 500 && report.latencies.length === expected);
}

/** As an operator would: attempts under way are handed back. */
async function end(worker: ChildProcess): Promise<void> {
  worker.kill('SIGTERM');
  await once(worker, 'exit');
}

function healthyDeliveries(house: WebhookBenchHouse, emitted: Map<string, string[]>): number {
  return house.webhooks
    .filter((webhook) => webhook.behaviour === 'ok')
    .reduce((sum, webhook) => sum + (emitted.get(webhook.organizationId)?.length ?? 0), 0);
}

function told(promise: string, kept: boolean): boolean {
  console.log(`${kept ? 'ok  ' : 'FAIL'} ${promise}`);
  return kept;
}

if (import.meta.main) process.exitCode = (await benchWebhooks()) ? 0 : 1;
