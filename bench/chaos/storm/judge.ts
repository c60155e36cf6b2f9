import type { Client } from '@holdfast/server/testing/cluster';
import { pause } from '../world.ts';
import { patiently, restoreAndCompare } from './actors.ts';
import type { Ledger } from './ledger.ts';
import type { Tenant } from './tenant.ts';
import type { StormWorld } from './world.ts';

type Backup = Awaited<ReturnType<Client['getBackup']>>;

const settleTimeoutMs = 5 * 60_000;
const minuteMs = 60_000;

/** When the weather is fine again: nothing hangs, and everything that was promised is so. */
export async function judge(world: StormWorld, ledger: Ledger): Promise<void> {
  for (const tenant of world.tenants) {
    await untilSettled(tenant, ledger);
    // Due times come every minute, so the schedule is looked at as it is now.
    const endMs = Date.now() - minuteMs;
    const backups = await backupsOf(tenant);
    await judgeBackups(tenant, backups, ledger);
    await judgeRuns(tenant, endMs, ledger);
    await judgeEvents(world, tenant, backups, ledger);
  }
}

async function untilSettled({ client, name }: Tenant, ledger: Ledger): Promise<void> {
  const deadlineMs = performance.now() + settleTimeoutMs;
  for (;;) {
    const open = await patiently(async () => {
      const restores = await Promise.all(
        (['pending', 'running'] as const).map((status) => client.listRestores({ query: { status } })),
      );
      const backups = await Promise.all(
        (['pending', 'running'] as const).map((status) => client.listBackups({ query: { status } })),
      );
      return [...restores, ...backups].flatMap(({ data }) => data.map(({ id }) => id));
    });
    if (open.length === 0) return;
    if (performance.now() > deadlineMs) return ledger.wrong(`${name}: stuck: ${open.join(' ')}`);
    await pause(1000);
  }
}

async function backupsOf({ client }: Tenant): Promise<Backup[]> {
  const found: Backup[] = [];
  for await (const backup of client.paginate('listBackups', { query: { limit: 100 } })) found.push(backup as Backup);
  return found;
}

/** What was acknowledged comes back as it was; what was not says why. */
async function judgeBackups(tenant: Tenant, backups: readonly Backup[], ledger: Ledger): Promise<void> {
  for (const { id, status, error, projectId } of backups) {
    ledger.count(`backups ${status}`);
    if (status === 'failed' && !error?.code) ledger.wrong(`${id} failed and does not say why`);
    if (status === 'failed' && error?.code === 'INTERNAL_ERROR') ledger.wrong(`${id}: ${error.message}`);
    if (status !== 'completed' || projectId !== tenant.projectId || ledger.isRestored(id)) continue;
    const isThere = await tenant.client.getBackup({ params: { backupId: id } }).catch(() => undefined);
    if (isThere) await restoreAndCompare(tenant, id, ledger);
  }
}

/** Every minute has one run, and each run has an end. */
async function judgeRuns(
  { client, scheduleId, scheduledSinceMs, name }: Tenant,
  endMs: number,
  ledger: Ledger,
): Promise<void> {
  const runs = new Map<string, string[]>();
  for await (const run of client.paginate('listScheduleRuns', { params: { scheduleId }, query: { limit: 100 } })) {
    const { dueAt, status } = run as { dueAt: string; status: string };
    runs.set(dueAt, [...(runs.get(dueAt) ?? []), status]);
    ledger.count(`due times ${status}`);
  }
  for (let dueMs = Math.ceil((scheduledSinceMs + 1) / minuteMs) * minuteMs; dueMs < endMs; dueMs += minuteMs) {
    const dueAt = new Date(dueMs).toISOString();
    const found = runs.get(dueAt) ?? [];
    if (found.length !== 1) ledger.wrong(`${name}: ${dueAt} has ${found.length} runs`);
    else if (found[0] === 'triggered') ledger.wrong(`${name}: the run of ${dueAt} has no end`);
  }
}

/** The end of every backup was told, or stands among the deliveries that were not taken. */
async function judgeEvents(
  world: StormWorld,
  tenant: Tenant,
  backups: readonly Backup[],
  ledger: Ledger,
): Promise<void> {
  const { client, webhookId } = tenant;
  const told = new Set(
    world.receiver
      .to(tenant.hookPath)
      .map(({ body }) => body)
      .flatMap(idsOfEnded),
  );
  for (const { id, status } of await deliveriesOf(tenant)) {
    ledger.count(`deliveries ${status}`);
    if (status === 'delivered') continue;
    const { body } = await client.getDeliveryRequest({ params: { webhookId, deliveryId: id } });
    for (const ended of idsOfEnded(typeof body === 'string' ? body : JSON.stringify(body))) told.add(ended);
  }
  for (const { id, status, trigger } of backups) {
    const isTold = trigger !== 'pre_restore' && (status === 'completed' || status === 'failed');
    if (isTold && !told.has(id)) ledger.wrong(`nobody was told that ${id} ${status}`);
  }
}

async function deliveriesOf({ client, webhookId }: Tenant): Promise<{ id: string; status: string }[]> {
  const found: { id: string; status: string }[] = [];
  let cursor: string | null | undefined;
  do {
    const query = { limit: 100, ...(cursor ? { cursor } : {}) };
    const page = await client.listDeliveries({ params: { webhookId }, query });
    found.push(...page.data.deliveries);
    cursor = page.pagination.nextCursor;
  } while (cursor);
  return found;
}

function idsOfEnded(body: string): string[] {
  if (!/"backup\.(completed|failed)"/.test(body)) return [];
  return [...body.matchAll(/"(bkp_[A-Za-z0-9]+)"/g)].map(([, id]) => id!);
}
