import { readCommand } from '@holdfast/server/platform/command-options';

/** The same for all that run, and told by each. */
const seedOfNow = Date.now() % 1_000_000_000;
const seed = () => Number(values.seed ?? seedOfNow);

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
      seed: seed(),
    }),
  pitr: async () =>
    (await import('./pitr.ts')).chaosPitr({
      writes: Number(values.writes),
      kills: Number(values.kills),
      instants: Number(values.instants),
      seed: seed(),
      foreign: values.foreign,
    }),
  'pitr-workers': async () =>
    (await import('./pitr-workers.ts')).chaosPitrWorkers({
      kills: Math.min(20, Number(values.kills)),
      instants: Math.min(60, Number(values.instants)),
      seed: seed(),
    }),
  storage: async () =>
    (await import('./storage.ts')).chaosStorage({
      runs: Number(values.runs ?? 14),
      documents: Math.min(500, documentsOr(500)),
    }),
  model: async () =>
    (await import('./model.ts')).chaosModel({
      runs: Number(values.runs ?? 500),
      seed: seed(),
      foreign: values.foreign,
    }),
  moments: async () =>
    (await import('./model.ts')).chaosMoments({
      runs: Number(values.runs ?? 200),
      seed: seed(),
      foreign: values.foreign,
    }),
  storm: async () => (await import('./storm/storm.ts')).chaosStorm({ minutes: Number(values.minutes ?? 10) }),
  backlog: async () =>
    (await import('./backlog.ts')).chaosBacklog({
      hooks: Number(values.hooks),
      events: Number(values.events),
      seconds: Number(values.seconds),
    }),
  webhooks: async () => (await import('./webhooks.ts')).chaosWebhooks(),
};

const number = (about: string, usual?: number) =>
  ({ type: 'string', value: 'N', about, ...(usual === undefined ? {} : { default: String(usual) }) }) as const;

const { values, positionals } = readCommand({
  usage: 'npm run chaos -- [NAME…]',
  about: `Breaks the service on purpose, for minutes to hours, and says whether its promises held. Without names all of them:
${Object.keys(registry).join(', ')}.`,
  options: {
    minutes: number('everything at once (storm), for so long'),
    runs: number('how often, or how many histories'),
    documents: number('documents in the database'),
    jobs: number('fairness: jobs of one organization that wait', 500),
    writes: number('pitr: writes', 20_000),
    kills: number('pitr: captures that are killed', 50),
    instants: number('pitr: instants that are compared', 300),
    seed: number('model, moments, retention, pitr: live this history again; without it a new one'),
    hooks: number('backlog: webhooks', 6500),
    events: number('backlog: events', 500),
    seconds: number('backlog: how long the other organization is watched', 120),
    foreign: {
      type: 'string',
      value: 'NAME',
      about: 'model, moments, pitr: against a Firestore that others wrote (fireemu, google)',
    },
  },
  takesNames: true,
});

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
