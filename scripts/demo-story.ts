import { type FirestoreSandbox, loadSample, startFirestoreSandbox } from '@holdfast/sandbox';
import { type App, startApp } from '@holdfast/server';
import { OffsetClock } from '@holdfast/server/platform/clock';
import { dayMs } from '@holdfast/server/platform/durations';
import { endOnSignal } from '@holdfast/server/platform/end-on-signal';
import { dashboardFolder, ensureDashboard } from '@holdfast/web/build';
import { config, embeddedDatabase, log } from './demo-begin.ts';
import { accident, database, fingerprint, work } from './demo-database.ts';
import { createOneOfEverything, drill, liveThrough, openHouse } from './demo-house.ts';
import { once } from './demo-options.ts';
import { backUp, type Client, pause, signIn, stageOf, until } from './demo-service.ts';

/**
 * The whole story on one machine: a Firestore in a box, an encrypted full backup, an accident, an increment, the diff,
 * the restore, and the proof that every byte is back. Then the same accident again, after work that no backup has seen,
 * undone to the second before it. Leaves the service running; with --once it ends instead, with
 * status 0 only if every step held.
 */
/** So many days have passed in the house before the story begins; for pictures, as it takes its time. */
const days = Number(process.env.DEMO_DAYS ?? 0);
const documents = 5000;

interface Step {
  what: string;
  detail: string;
  seconds: number;
}
const steps: Step[] = [];
/** Moved forward by less than a minute, so that nobody waits for the next one. The sandbox goes by it too. */
const clock = new OffsetClock();
const sandboxClock = { nowMicros: () => clock.now().getTime() * 1000 };
const heartbeatMs = 300;

async function step<T>(what: string, work: () => Promise<T>, detail: (result: T) => string): Promise<T> {
  if (process.stdout.isTTY) process.stdout.write(`  … ${what}`);
  const startedMs = performance.now();
  const result = await work();
  const entry = { what, detail: detail(result), seconds: (performance.now() - startedMs) / 1000 };
  steps.push(entry);
  process.stdout.write(
    `${process.stdout.isTTY ? '\r' : ''}  ✓ ${what} — ${entry.detail} (${entry.seconds.toFixed(2)} s)\n`,
  );
  return result;
}

async function main(): Promise<void> {
  console.log('\nHoldfast: a backup you can trust, shown from start to finish.\n');
  clock.advance(-days * dayMs);
  const firestore = await startFirestoreSandbox({ clock: sandboxClock, listenHeartbeatMs: heartbeatMs });
  if (!once) await ensureDashboard((line) => console.log(`  ${line}`));
  const app = await startApp(config, { log, embeddedDatabase, dashboardFolder, clock });
  try {
    if (days > 0) await liveBefore(app, firestore);
    await tell(app, firestore);
    table();
  } catch (error) {
    console.error(`\n  ✗ ${error instanceof Error ? error.message : String(error)}`);
    if (!once) console.error('\nThe demo did not hold. The service is stopped.');
    process.exitCode = 1;
  }
  if (once || process.exitCode === 1) {
    await app.close();
    await firestore.stop();
    return;
  }
  console.log(
    `\nHoldfast is running at ${app.platform.baseUrl()}, with a sandbox Firestore at ${firestore.address}. Stop it with Ctrl+C.`,
  );
  await tellOfFormer(app, config.HOLDFAST_DATA);
  // A new link ends the one before it: the printed one is the last.
  const client = await signIn(app, await app.newSignInLink());
  const link = await app.newSignInLink();
  if (link) console.log(`Sign in: ${link}`);
  console.log(
    `A second person: invite them on the Team page, and the link of the invitation is printed here. ${
      config.OIDC_ISSUER === undefined
        ? 'To sign in they need an identity provider, which the demo takes from OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET (docs/identity.md).'
        : ''
    }`.trimEnd(),
  );
  if (days === 0) void furnishLater(client, firestore);
  await endOnSignal();
  await app.close();
  await firestore.stop();
  process.exit(0);
}

/** What a second start on the same folder finds there. */
async function tellOfFormer(app: App, folder: string): Promise<void> {
  const { slug, former } = await stageOf(app);
  if (former.length === 0) return;
  console.log(
    `This demo is at ${app.platform.baseUrl()}/o/${slug}. ${folder} holds ${former.length === 1 ? 'one' : former.length} of before as well (${former.join(', ')}): ` +
      'backups can be looked into, but the databases were in memory and are gone. Delete the folder to begin afresh.',
  );
}

/** The other projects of the house, which need nobody to wait for them. */
async function furnishLater(client: Client, firestore: FirestoreSandbox): Promise<void> {
  try {
    await drillNewest(client);
    await createOneOfEverything(client, firestore, await openHouse(client, firestore));
    console.log('Three more projects, a drill with its report and a failure with its reason are there as well.');
  } catch (error) {
    console.error(`The other projects could not be made: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The newest full backup, put back into a scratch database and compared. */
async function drillNewest(client: Client): Promise<void> {
  const { data } = await client.listBackups({ query: { status: 'completed', type: 'full' } });
  const newest = data.find(({ trigger }) => trigger === 'manual') ?? data[0];
  if (newest) await drill(client, newest.id);
}

/** Days that pass before the story: sessions end meanwhile, so that each half day begins with a sign-in. */
async function liveBefore(app: App, firestore: FirestoreSandbox): Promise<void> {
  const client = await signIn(app);
  await client.createStorageDestination({
    body: { name: 'Vault', type: 'local', path: `demo-vault-${Date.now()}`, isDefault: true },
  });
  await openHouse(client, firestore);
  const house = {
    signIn: async () => signIn(app, await app.newSignInLink()),
    measure: () => app.tasks.runNow('usage of the day'),
    clock,
  };
  await liveThrough(house, firestore, days * 2);
}

async function tell(app: App, firestore: FirestoreSandbox): Promise<void> {
  const client = await step(
    'Sign in with the one-time link',
    async () => signIn(app, days > 0 ? await app.newSignInLink() : app.signInLink),
    () => 'a first owner and an organization',
  );
  loadSample(firestore.control.database(database), { seed: 7, documents });
  const before = await step(
    'Fill a sandbox Firestore',
    () => fingerprint(firestore),
    ({ count }) => `${count} documents, every value type, missing parents, odd ids`,
  );

  const destination = await step(
    'Add a storage destination',
    () =>
      client.createStorageDestination({
        body: { name: 'Local folder', type: 'local', path: `demo-storage-${Date.now()}`, isDefault: true },
      }),
    ({ path }) => `a folder: ${path}`,
  );
  const project = await step(
    'Connect the project',
    () =>
      client.createProject({
        body: {
          name: 'Demo shop',
          sourceProjectId: database.project,
          connection: { type: 'emulator', host: firestore.address },
          settings: { writeRampUp: false },
        },
      }),
    ({ connection }) => connection.status,
  );

  const schedule = await step(
    'Set up a schedule',
    () => addSchedule(client, project.id, destination.id),
    ({ nextRunAt }) => `it fires while the story goes on, at ${nextRunAt}`,
  );

  const full = await step(
    'Take an encrypted full backup',
    () => backUp(client, project.id, 'full'),
    (backup) =>
      `${backup.documentCount} documents, ${formatKilobytes(backup.size)}, ${formatKilobytes(backup.compressedSize)} stored`,
  );

  await step(
    'Have an accident',
    () => accident(firestore),
    (done) => done,
  );
  const increment = await step(
    'Take an incremental backup',
    () => backUp(client, project.id, 'incremental'),
    (backup) => `${formatKilobytes(backup.compressedSize)} stored, on top of ${backup.parentId}`,
  );
  if (increment.type !== 'incremental')
    throw new Error(`the increment became ${increment.type}: ${increment.warnings.join(' ')}`);

  await step(
    'Show what changed',
    async () => {
      const totals = { added: 0, removed: 0, changed: 0 };
      const pages = client.pages('diffBackup', {
        params: { backupId: full.id },
        query: { against: increment.id, limit: 200 },
      });
      for await (const { data } of pages) {
        totals.added += data.added.length;
        totals.removed += data.removed.length;
        totals.changed += data.changed.length;
      }
      return totals;
    },
    ({ added, removed, changed }) => `${added} added, ${removed} removed, ${changed} changed, field by field`,
  );
  await step(
    'Verify every segment',
    async () => {
      await client.verifyBackup({ params: { backupId: increment.id } });
      for (;;) {
        const { verification } = await client.getBackup({ params: { backupId: increment.id } });
        if (verification?.status === 'passed') return verification;
        if (verification?.status === 'failed')
          throw new Error(`verification failed: ${verification.errors.join('; ')}`);
        await pause();
      }
    },
    ({ segments, documents: verified }) => `${segments} segments opened and hashed, ${verified} documents`,
  );
  const restored = await step(
    'Restore the state before the accident',
    async () => {
      const started = await client.startRestore({ body: { backupId: full.id, options: { deleteExtra: true } } });
      return until(started.id, () => client.getRestore({ params: { restoreJobId: started.id } }));
    },
    (restore) => `${restore.documentsRestored} documents; holdfast restore undo ${restore.id} takes it back`,
  );
  if (restored.errors.count > 0) throw new Error(`${restored.errors.count} documents were not restored`);

  await step(
    'See that the schedule fired by itself',
    () => firstRun(client, schedule),
    ({ lastRun, nextRunAt }) => `${lastRun?.backupId} was due at ${lastRun?.dueAt}, the next one at ${nextRunAt}`,
  );
  await step(
    'Prove that every byte is back',
    async () => {
      const after = await fingerprint(firestore);
      if (after.sha256 !== before.sha256 || after.count !== before.count)
        throw new Error(
          `the restored database differs: ${after.count} documents ${after.sha256} instead of ${before.count} ${before.sha256}`,
        );
      return after;
    },
    ({ count, sha256 }) => `${count} documents, SHA-256 ${sha256.slice(0, 16)}… as before`,
  );
  await tellOfMoments(client, project.id, firestore);
}

/** What happens between two backups: captured as it happens, and brought back to the second. */
async function tellOfMoments(client: Client, projectId: string, firestore: FirestoreSandbox): Promise<void> {
  const params = { projectId };
  const covered = async (timeMs: number) => {
    for (;;) {
      const pitr = await client.getPitr({ params });
      if (pitr.error) throw new Error(`capture stopped: ${pitr.error.message}`);
      if (pitr.status === 'running' && Date.parse(pitr.coveredTo ?? '') > timeMs) return pitr;
      await pause();
    }
  };
  await step(
    'Capture every change from now on',
    async () => {
      await client.enablePitr({ params, body: { retentionDays: 7 } });
      return covered(0);
    },
    ({ coveredFrom }) => `any moment since ${coveredFrom}`,
  );
  const before = await step(
    'Work on, with no backup in sight',
    async () => {
      const made = await work(firestore);
      const state = await fingerprint(firestore);
      await pause(250);
      const moment = clock.now().toISOString();
      await pause(250);
      return { ...state, made, moment };
    },
    ({ made }) => made,
  );
  await step(
    'Have the accident again',
    () => accident(firestore),
    (done) => done,
  );
  const undone = await step(
    'Undo it to the second before',
    async () => {
      await covered(clock.now().getTime());
      const body = { projectId, pointInTime: before.moment, options: { deleteExtra: true } };
      const started = await client.startRestore({ body });
      return until(started.id, () => client.getRestore({ params: { restoreJobId: started.id } }));
    },
    (restore) => `${restore.documentsRestored} documents as of ${before.moment}`,
  );
  if (undone.errors.count > 0) throw new Error(`${undone.errors.count} documents were not restored`);
  await step(
    'Prove that nothing of the work is lost',
    async () => {
      const after = await fingerprint(firestore);
      if (after.sha256 !== before.sha256 || after.count !== before.count)
        throw new Error(`the database is not what it was at ${before.moment}: ${after.count} documents`);
      return after;
    },
    ({ count, sha256 }) => `${count} documents, SHA-256 ${sha256.slice(0, 16)}… as a second before the accident`,
  );
}

/** For every minute, so that nobody has to wait for the night. */
function addSchedule(client: Client, projectId: string, storageDestinationId: string) {
  const retentionPolicy = { last: 3, daily: 7, weekly: 4, monthly: 12 };
  const body = { projectId, name: 'Nightly', cron: '* * * * *', storageDestinationId, retentionPolicy };
  return client.createSchedule({ body });
}

/** Once it has fired, the schedule waits for the night. */
async function firstRun(client: Client, { id, nextRunAt }: { id: string; nextRunAt: string | null }) {
  const params = { scheduleId: id };
  clock.advance(Math.max(0, Date.parse(nextRunAt ?? '') - clock.now().getTime()));
  for (;;) {
    const { lastRun } = await client.getSchedule({ params });
    if (lastRun?.backupId) {
      const { backupId } = lastRun;
      await until(backupId, () => client.getBackup({ params: { backupId } }));
      return client.updateSchedule({ params, body: { cron: '0 2 * * *' } });
    }
    await pause();
  }
}

function formatKilobytes(bytes: number | null): string {
  return bytes === null ? '?' : `${Math.round(bytes / 1000).toLocaleString('en-US')} kB`;
}

function table(): void {
  const widest = Math.max(...steps.map(({ what }) => what.length));
  console.log(`\n${'─'.repeat(widest + 70)}`);
  for (const { what, detail, seconds } of steps)
    console.log(`  ${what.padEnd(widest)}  ${`${seconds.toFixed(2)} s`.padStart(8)}  ${detail}`);
  console.log(`${'─'.repeat(widest + 70)}\n  Everything held.`);
}

await main();
