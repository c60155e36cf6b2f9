import { importPath } from './foreign-file.ts';
import type { World } from './world.ts';
import { pause } from './world.ts';

type Client = World['client'];

/** What an organization has to work with, in the test of fairness. */
export interface Tenant {
  client: Client;
  projectIds: readonly string[];
  /** A completed backup per project. */
  backupIds: readonly string[];
  destinationIds: readonly string[];
  /** Of each project, where the kind needs them. */
  scheduleIds?: readonly string[];
  moments?: readonly string[];
}

/** A kind of job as an organization asks for it. `index` spreads the jobs over projects, backups and destinations. */
export interface Kind {
  name: string;
  /** Makes what as many jobs of this kind work on; answers with the tenant that has it. */
  prepare?(tenant: Tenant, count: number): Promise<Tenant>;
  /** Starts one; answers with what asks whether it has ended. */
  start(tenant: Tenant, index: number): Promise<() => Promise<Ended>>;
}

/** When, and how long it waited and ran, where its record tells. */
type Ended = boolean | { readonly atMs: number; readonly waitedMs: number; readonly ranMs: number };

const pick = (all: readonly string[], index: number) => all[index % all.length] as string;
const isOver = ({ status }: { status: string }) => status !== 'pending' && status !== 'running';

interface JobRecord {
  status: string;
  createdAt?: string;
  startedAt?: string | null;
  completedAt: string | null;
}

function endOf(record: JobRecord): Ended {
  const { createdAt, startedAt, completedAt } = record;
  if (!isOver(record) || !createdAt || !startedAt || !completedAt) return isOver(record);
  const [askedMs, beganMs, atMs] = [createdAt, startedAt, completedAt].map((time) => Date.parse(time)) as [
    number,
    number,
    number,
  ];
  return { atMs, waitedMs: beganMs - askedMs, ranMs: atMs - beganMs };
}

/** A collection with a single document. */
export const tinyCollection = 'tiny';

const atOnce = 20;

/** Some at a time: what is tested is the waiting of jobs, not of calls. */
export async function someAtOnce<Item>(count: number, make: (index: number) => Promise<Item>): Promise<Item[]> {
  const items: Item[] = [];
  while (items.length < count) {
    const first = items.length;
    const length = Math.min(atOnce, count - first);
    items.push(...(await Promise.all(Array.from({ length }, (_, index) => make(first + index)))));
  }
  return items;
}

async function tinyBackup({ client, projectIds }: Tenant, index: number): Promise<string> {
  const body = { projectId: pick(projectIds, index), collections: [tinyCollection] };
  const { id: backupId } = await client.createBackup({ body });
  while (!isOver(await client.getBackup({ params: { backupId } }))) await pause(50);
  return backupId;
}

/** Projects of which changes are captured, for restores of moments. */
const capturedMax = 5;

/** Switches the capture on and waits for a moment that can be gone to. */
async function momentOf(client: Client, projectId: string): Promise<string> {
  await client.enablePitr({ params: { projectId }, body: {} });
  for (;;) {
    const { coveredTo } = await client.getPitr({ params: { projectId } });
    if (coveredTo) return coveredTo;
    await pause(200);
  }
}

export const kinds: readonly Kind[] = [
  {
    name: 'merge',
    start: async ({ client, projectIds }, index) => {
      const started = await client.createBackup({ body: { projectId: pick(projectIds, index), type: 'synthetic' } });
      if ('dryRun' in started) throw new Error('a merge was not started');
      return async () => endOf(await client.getBackup({ params: { backupId: started.id } }));
    },
  },
  {
    name: 'import',
    start: async ({ client, projectIds, destinationIds }, index) => {
      const body = {
        projectId: pick(projectIds, index),
        storageDestinationId: pick(destinationIds, index),
        path: importPath,
        metadata: { source: 'json' as const },
      };
      const { id: backupId } = await client.importBackup({ body });
      return async () => endOf(await client.getBackup({ params: { backupId } }));
    },
  },
  {
    name: 'removal',
    prepare: async (tenant, count) => ({
      ...tenant,
      backupIds: await someAtOnce(count, (index) => tinyBackup(tenant, index)),
    }),
    start: async ({ client, backupIds }, index) => {
      const backupId = pick(backupIds, index);
      await client.deleteBackup({ params: { backupId } });
      const query = { action: 'backup.objects_removed', resourceId: backupId };
      return async () => (await client.listAuditLogs({ query })).data.length > 0;
    },
  },
  {
    name: 'verification',
    start: async ({ client, backupIds }, index) => {
      const backupId = pick(backupIds, index);
      await client.verifyBackup({ params: { backupId } });
      return async () => (await client.getBackup({ params: { backupId } })).verification?.status !== 'running';
    },
  },
  {
    name: 'restore',
    start: async ({ client, backupIds, projectIds }, index) => {
      const body = {
        backupId: pick(backupIds, index),
        targetProjectId: pick(projectIds, index),
        options: { dryRun: true },
      };
      const { id: restoreJobId } = await client.startRestore({ body });
      return async () => endOf(await client.getRestore({ params: { restoreJobId } }));
    },
  },
  {
    name: 'scheduled backup',
    prepare: async (tenant) => {
      const make = async (projectId: string) =>
        (await tenant.client.createSchedule({ body: { projectId, name: 'Yearly', cron: '0 0 1 1 *' } })).id;
      return { ...tenant, scheduleIds: await Promise.all(tenant.projectIds.map(make)) };
    },
    start: async ({ client, scheduleIds }, index) => {
      const { id: backupId } = await client.runSchedule({ params: { scheduleId: pick(scheduleIds ?? [], index) } });
      return async () => endOf(await client.getBackup({ params: { backupId } }));
    },
  },
  {
    name: 'restore of a moment',
    prepare: async (tenant) => {
      const projectIds = tenant.projectIds.slice(0, capturedMax);
      return { ...tenant, projectIds, moments: await Promise.all(projectIds.map((id) => momentOf(tenant.client, id))) };
    },
    start: async ({ client, projectIds, moments }, index) => {
      const body = {
        projectId: pick(projectIds, index),
        pointInTime: pick(moments ?? [], index),
        options: { dryRun: true },
      };
      const { id: restoreJobId } = await client.startRestore({ body });
      return async () => endOf(await client.getRestore({ params: { restoreJobId } }));
    },
  },
  {
    name: 'drill',
    start: async ({ client, backupIds }, index) => {
      const backupId = pick(backupIds, index);
      const { id } = await client.startDrill({ params: { backupId } });
      return async () => {
        for await (const drill of client.paginate('listDrills', { params: { backupId }, query: { limit: 200 } }))
          if (drill.id === id) return endOf(drill);
        throw new Error('the drill is gone');
      };
    },
  },
  {
    name: 'storage task',
    start: async ({ client, destinationIds }, index) => {
      const storageDestinationId = pick(destinationIds, index);
      const { id: taskId } = await client.rescanStorageDestination({ params: { storageDestinationId } });
      return async () => endOf(await client.getStorageTask({ params: { storageDestinationId, taskId } }));
    },
  },
  {
    name: 'backup',
    start: async ({ client, projectIds }, index) => {
      const { id: backupId } = await client.createBackup({ body: { projectId: pick(projectIds, index) } });
      return async () => endOf(await client.getBackup({ params: { backupId } }));
    },
  },
];

export interface KindResult {
  kind: string;
  queued: number;
  /** Of the jobs asked for before, how many ended from when the neighbour asked for a single one until that had ended. */
  endedBefore: number;
  endedWhileAsking: number;
  aloneMs: number;
  besideMs: number;
  /** Until the single one began, and the longest that one of those ran which ended meanwhile; where records tell. */
  waitedMs: number | null;
  longestMs: number;
}

/** Everything for the race of one kind; until all kinds have theirs, none of them begins. */
export interface Race {
  kind: Kind;
  many: Tenant;
  one: Tenant;
  queued: number;
  aloneMs: number;
}

export async function prepareRace(kind: Kind, many: Tenant, one: Tenant, queued: number): Promise<Race> {
  const [those, single] = kind.prepare ? [await kind.prepare(many, queued), await kind.prepare(one, 3)] : [many, one];
  return { kind, many: those, one: single, queued, aloneMs: (await timed(kind, single, 0)).tookMs };
}

/**
 * One tenant asks for many, then the other for one. What is left of the many stays: the first tenant has the more waiting
 * when the next kind has its turn.
 */
export async function runRace({ kind, many, one, queued, aloneMs }: Race): Promise<KindResult> {
  const asked = await someAtOnce(queued, (index) => kind.start(many, index));
  // Asking for so many takes a while, in which the first of them end.
  const ended = await someAtOnce(asked.length, (index) => asked[index]!());
  const open = asked.filter((_, index) => !ended[index]);
  const fromMs = Date.now();
  const { tookMs: besideMs, waitedMs } = await timed(kind, one, 1);
  const throughMs = Date.now();
  // Looking at so many takes a while too: those that end meanwhile ended behind the single one.
  const ends = await someAtOnce(open.length, (index) => open[index]!());
  const isBetween = (end: Ended) => (typeof end === 'object' ? end.atMs >= fromMs && end.atMs <= throughMs : end);
  const between = ends.filter(isBetween);
  const longestMs = Math.max(0, ...between.map((end) => (typeof end === 'object' ? end.ranMs : 0)));
  const counts = { endedWhileAsking: asked.length - open.length, endedBefore: between.length };
  return { kind: kind.name, queued, ...counts, aloneMs, besideMs, waitedMs, longestMs };
}

async function timed(kind: Kind, tenant: Tenant, index: number): Promise<{ tookMs: number; waitedMs: number | null }> {
  const startedMs = performance.now();
  const hasEnded = await kind.start(tenant, index);
  for (;;) {
    const end = await hasEnded();
    const tookMs = Math.round(performance.now() - startedMs);
    if (end) return { tookMs, waitedMs: end === true ? null : end.waitedMs };
    await pause(20);
  }
}
