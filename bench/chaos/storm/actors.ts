import { HoldfastError } from '@holdfast/contract/client';
import type { Client } from '@holdfast/server/testing/cluster';
import { pause } from '../world.ts';
import type { Ledger } from './ledger.ts';
import { type Documents, differences, pick } from './shop.ts';
import type { Tenant } from './tenant.ts';

type Restore = Awaited<ReturnType<Client['getRestore']>>;

const endTimeoutMs = 10 * 60_000;
const resumesMax = 20;

/** What people do all the time, whatever else is going on. */
export class Actors {
  readonly #tenants: readonly Tenant[];
  readonly #ledger: Ledger;
  readonly #running: Promise<void>[] = [];
  #isOver = false;

  constructor(tenants: readonly Tenant[], ledger: Ledger) {
    this.#tenants = tenants;
    this.#ledger = ledger;
  }

  start(): void {
    for (const tenant of this.#tenants) {
      this.#repeat(200, () => tenant.shop.work());
      this.#repeat(6000, () => this.#backUp(tenant));
      this.#repeat(20_000, () => this.#giveUp(tenant));
      this.#repeat(3000, () => this.#restoreOne(tenant));
    }
    this.#repeat(2000, () => this.#intrude());
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  #repeat(everyMs: number, act: () => Promise<void>): void {
    const run = async () => {
      while (!this.#isOver) {
        await pause(everyMs * (0.5 + Math.random()));
        await act().catch((error: unknown) => this.#refused(error));
      }
    };
    this.#running.push(run());
  }

  /** In a storm calls are refused. What is not allowed is an answer that nobody thought of. */
  #refused(error: unknown): void {
    if (!(error instanceof HoldfastError)) throw error;
    this.#ledger.count(`answered ${error.code}`);
    if (error.code === 'INTERNAL_ERROR')
      this.#ledger.wrong(`a call was answered with ${error.message} ${error.requestId}`);
  }

  async #backUp({ client, projectId, destinationIds }: Tenant): Promise<void> {
    const type = pick(['full', 'incremental'] as const);
    const storageDestinationIds = pick([destinationIds, [destinationIds[0]!], [destinationIds[1]!]]);
    await client.createBackup({ body: { projectId, type, storageDestinationIds: [...storageDestinationIds] } });
    this.#ledger.count('backups started by hand');
  }

  async #giveUp({ client }: Tenant): Promise<void> {
    const { data } = await client.listBackups({ query: { status: 'running', limit: 1 } });
    if (!data[0]) return;
    await client.cancelBackup({ params: { backupId: data[0].id } });
    this.#ledger.count('backups cancelled');
  }

  /** Any of the newest that nobody has restored yet, in the middle of it all. */
  async #restoreOne(tenant: Tenant): Promise<void> {
    const { data } = await tenant.client.listBackups({ query: { status: 'completed', limit: 20 } });
    const open = data.filter(({ id, projectId }) => projectId === tenant.projectId && !this.#ledger.isRestored(id));
    if (open.length > 0) await restoreAndCompare(tenant, pick(open).id, this.#ledger);
  }

  /** With the key of one organization at the things of the other. */
  async #intrude(): Promise<void> {
    const [thief, victim] = Math.random() < 0.5 ? this.#tenants : this.#tenants.toReversed();
    const { data } = await victim!.client.listBackups({ query: { limit: 5 } });
    const { client } = thief!;
    const attempts = [
      () => client.getProject({ params: { projectId: victim!.projectId } }),
      () => client.getSchedule({ params: { scheduleId: victim!.scheduleId } }),
      () => client.listDeliveries({ params: { webhookId: victim!.webhookId }, query: {} }),
      ...data.flatMap(({ id }) => [
        () => client.getBackup({ params: { backupId: id } }),
        () => client.startRestore({ body: { backupId: id, targetProjectId: thief!.targetId } }),
      ]),
    ];
    for (const attempt of attempts) {
      const seen = await attempt().catch((error: unknown) => this.#refused(error));
      this.#ledger.count('looks at what belongs to others');
      if (seen !== undefined) this.#ledger.wrong(`${thief!.name} sees what belongs to ${victim!.name}`);
    }
  }
}

/** To the end, resumed as often as it takes; then the database is what it was at the backup's instant. */
export async function restoreAndCompare(tenant: Tenant, backupId: string, ledger: Ledger): Promise<void> {
  const { client, shop, target } = tenant;
  const backup = await client.getBackup({ params: { backupId } });
  if (!backup.snapshotTime) return ledger.wrong(`${backupId} is completed and has no instant`);
  const wanted = shop.at(backup.snapshotTime);
  const found = await restoreInto(tenant, backupId, ledger);
  if (!found) return;
  ledger.count('documents compared', wanted.size);
  const paths = differences(found.documents, wanted);
  if (paths.length > 0) {
    const told = paths
      .slice(0, 5)
      .map(
        (path) =>
          `${path} ${found.documents.get(path)?.n} (written ${target.writtenAt(path)}) instead of ${wanted.get(path)?.n} (was ${shop.historyOf(path)})`,
      );
    ledger.wrong(
      `${backupId} (${backup.type}, ${backup.snapshotTime}) restored otherwise than it was by ${found.told}: ${told.join(', ')}`,
    );
    // The same once more tells whether the backup is wrong, or what restored it.
    const again = await restoreInto(tenant, backupId, ledger);
    if (again)
      ledger.wrong(`${backupId} once more: ${differences(again.documents, wanted).length} differ, ${again.told}`);
  }
  ledger.restored(backupId);
}

/** What the target holds after a restore to the end, and what the restore says of itself. */
async function restoreInto(
  { client, targetId, target }: Tenant,
  backupId: string,
  ledger: Ledger,
): Promise<{ documents: Documents; told: string } | undefined> {
  const started = await client.startRestore({
    body: { backupId, targetProjectId: targetId, options: { deleteExtra: true, safetyBackup: false } },
  });
  const restore = await untilCompleted(client, started.id, ledger);
  if (restore.status === 'completed') {
    const { conflicts, startedAt, completedAt } = restore;
    return {
      documents: await target.read(),
      told: `${started.id} ${JSON.stringify({ conflicts, startedAt, completedAt })}`,
    };
  }
  ledger.wrong(`${backupId} could not be restored: ${restore.status} ${restore.error?.code} ${restore.error?.message}`);
}

async function untilCompleted(client: Client, restoreJobId: string, ledger: Ledger): Promise<Restore> {
  const deadlineMs = performance.now() + endTimeoutMs;
  for (let resumes = 0; ; ) {
    const restore = await patiently(() => client.getRestore({ params: { restoreJobId } }));
    if (performance.now() > deadlineMs) return restore;
    if (restore.status === 'failed' && restore.error?.retryable && resumes < resumesMax) {
      resumes += 1;
      ledger.count('restores resumed');
      await patiently(() => client.resumeRestore({ params: { restoreJobId } }));
    } else if (restore.status !== 'pending' && restore.status !== 'running') return restore;
    await pause(500);
  }
}

/** Through times in which nobody answers. */
export async function patiently<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    try {
      return await call();
    } catch (error) {
      const isPassing = error instanceof HoldfastError && (error.status === 0 || error.status === 503);
      if (!isPassing || tries === 120) throw error;
      await pause(1000);
    }
  }
}
