import { parseArgs } from 'node:util';

/**
 * `npm run chaos -- --minutes N`: everything at once. `npm run chaos -- NAME [--runs N] [--documents N] [--jobs N] [--writes N] [--kills N] [--instants N] [--seed N] [--hooks N] [--events N] [--seconds N] [--foreign]`:
 * breaks the service on purpose and says whether its promises held.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string' },
    documents: { type: 'string' },
    jobs: { type: 'string', default: '500' },
    writes: { type: 'string', default: '20000' },
    kills: { type: 'string', default: '50' },
    instants: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    hooks: { type: 'string', default: '6500' },
    events: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '120' },
    foreign: { type: 'boolean', default: false },
    minutes: { type: 'string' },
  },
});

/** Every run of a restore or a drill writes all documents anew, so theirs are fewer. */
const documentsOr = (otherwise: number) => Number(values.documents ?? otherwise);

const registry: Record<string, () => Promise<boolean>> = {
  backups: async () =>
    (await import('./backups.ts')).chaosBackups({
      runs: Number(values.runs ?? 50),
      documents: documentsOr(300_000),
    }),
  restores: async () =>
    (await import('./restores.ts')).chaosRestores({
      runs: Number(values.runs ?? 10),
      documents: documentsOr(60_000),
    }),
  drills: async () =>
    (await import('./drills.ts')).chaosDrills({
      runs: Number(values.runs ?? 10),
      documents: documentsOr(60_000),
    }),
  fairness: async () => (await import('./fairness.ts')).chaosFairness({ queued: Number(values.jobs) }),
  outage: async () => (await import('./outage.ts')).chaosOutage({ documents: documentsOr(300_000) }),
  schedules: async () => (await import('./schedules.ts')).chaosSchedules({ dueTimes: Number(values.runs ?? 200) }),
  retention: async () =>
    (await import('./retention.ts')).chaosRetention({
      histories: Number(values.runs ?? 20),
      seed: Number(values.seed),
    }),
  pitr: async () =>
    (await import('./pitr.ts')).chaosPitr({
      writes: Number(values.writes),
      kills: Number(values.kills),
      instants: Number(values.instants),
      seed: Number(values.seed),
      isForeign: values.foreign,
    }),
  'pitr-workers': async () =>
    (await import('./pitr-workers.ts')).chaosPitrWorkers({
      kills: Math.min(20, Number(values.kills)),
      instants: Math.min(60, Number(values.instants)),
      seed: Number(values.seed),
    }),
  storage: async () =>
    (await import('./storage.ts')).chaosStorage({
      runs: Number(values.runs ?? 14),
      documents: Math.min(500, documentsOr(500)),
    }),
  model: async () =>
    (await import('./model.ts')).chaosModel({
      runs: Number(values.runs ?? 500),
      seed: Number(values.seed),
      isForeign: values.foreign,
    }),
  moments: async () =>
    (await import('./model.ts')).chaosMoments({ runs: Number(values.runs ?? 200), seed: Number(values.seed) }),
  storm: async () => (await import('./storm/storm.ts')).chaosStorm({ minutes: Number(values.minutes ?? 10) }),
  backlog: async () =>
    (await import('./backlog.ts')).chaosBacklog({
      hooks: Number(values.hooks),
      events: Number(values.events),
      seconds: Number(values.seconds),
    }),
  webhooks: async () => (await import('./webhooks.ts')).chaosWebhooks(),
};

const named = values.minutes && positionals.length === 0 ? ['storm'] : positionals;
const names = named.length > 0 ? named : Object.keys(registry);
for (const name of names) {
  const run = registry[name];
  if (!run) {
    console.error(`There is no chaos called ${name}. There is: ${Object.keys(registry).join(', ')}.`);
    process.exit(2);
  }
  const held = await run();
  console.log(`${name}: ${held ? 'every promise held' : 'A PROMISE WAS BROKEN'}`);
  if (!held) process.exitCode = 1;
}
process.exit();
