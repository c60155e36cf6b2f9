import { type Bench, type Figure, figure } from './figure.ts';
import { type Behaviour, WebhookBenchHouse } from './webhooks/house.ts';
import { judge, percentile } from './webhooks/verdict.ts';

const events = Number(process.env.BENCH_EVENTS ?? 20_000);
const eventsPerSecond = Number(process.env.BENCH_EVENTS_PER_SECOND ?? 250);
const backlogEvents = Math.ceil(events / 4);
const organizations = 25;
const webhooksEach = 2;
const p95TargetMs = 2000;
const perSecondTarget = 500;

const badOnes: readonly Behaviour[] = ['slow', 'fail', 'hang'];
/** Every fifth webhook is slow, failing or hanging, in turn. */
const behaviourOf = (index: number): Behaviour =>
  index % 5 === 4 ? (badOnes[Math.floor(index / 5) % 3] as Behaviour) : 'ok';

export const webhooksBench: Bench = {
  name: 'webhooks',
  about: `${events.toLocaleString('en-US')} events at ${eventsPerSecond}/s to ${organizations * webhooksEach} webhooks of ${organizations} organizations, ${webhooksEach} for each event, a fifth of them slow, failing or hanging; then a backlog of ${backlogEvents.toLocaleString('en-US')} events. Endpoints and deliveries in processes of their own (\`npm run bench -- webhooks\`).`,
  async run() {
    const house = await WebhookBenchHouse.open();
    try {
      await house.furnish(organizations, webhooksEach, behaviourOf);
      return [await paced(house), await drained(house)];
    } finally {
      await house.close();
    }
  },
};

/** How long a healthy endpoint waits for an event while others misbehave; false when anything is lost, doubled or astray. */
async function paced(house: WebhookBenchHouse): Promise<Figure> {
  const worker = await house.startWorker();
  const emitted = await house.emitPaced(events, eventsPerSecond);
  await house.untilAccepted(healthyDeliveries(house, emitted), 120_000);
  const report = await house.ask('report');
  await house.endWorker(worker, 'SIGTERM');
  const verdict = await judge(house, emitted, report);
  const { missing, lost, doubled, wrongTenant, badSignatures } = verdict;
  const at = (share: number) => percentile(report.latencies, share);
  const seconds = (report.lastAtMs - report.firstAtMs) / 1000;
  const details = {
    'p50 ms': at(0.5),
    'p95 ms': at(0.95),
    'p99 ms': at(0.99),
    'deliveries/s': Math.round(report.latencies.length / seconds),
    connections: report.connections,
    ...verdict,
  };
  const faultless = missing + lost + doubled + wrongTenant + badSignatures === 0;
  return figure(
    'event to delivery at healthy endpoints, p95',
    'two seconds',
    at(0.95) / p95TargetMs,
    1,
    'lower',
    details,
    faultless,
  );
}

/** How fast a backlog drains that was written while nobody delivered. */
async function drained(house: WebhookBenchHouse): Promise<Figure> {
  await house.ask('reset');
  const before = await house.countAccepted();
  const emitted = await house.emitPaced(backlogEvents, Number.POSITIVE_INFINITY);
  const expected = healthyDeliveries(house, emitted);
  const worker = await house.startWorker();
  await house.untilAccepted(before + expected, 240_000);
  const report = await house.ask('report');
  await house.endWorker(worker, 'SIGTERM');
  const perSecond = report.latencies.length / ((report.lastAtMs - report.firstAtMs) / 1000);
  const details = { 'deliveries/s': Math.round(perSecond), deliveries: report.latencies.length, expected };
  const whole = report.latencies.length === expected;
  return figure('sustained deliveries', '500 a second', perSecond / perSecondTarget, 1, 'higher', details, whole);
}

function healthyDeliveries(house: WebhookBenchHouse, emitted: Map<string, string[]>): number {
  return house.webhooks
    .filter((webhook) => webhook.behaviour === 'ok')
    .reduce((sum, webhook) => sum + (emitted.get(webhook.organizationId)?.length ?? 0), 0);
}
