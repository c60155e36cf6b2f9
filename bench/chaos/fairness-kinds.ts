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
}

/** A kind of job as an organization asks for it. `index` spreads the jobs over projects, backups and destinations. */
export interface Kind {
  name: string;
  /** Starts one; answers with what asks whether it has ended. */
  start(tenant: Tenant, index: number): Promise<() => Promise<boolean>>;
}

const pick = (all: readonly string[], index: number) => all[index % all.length] as string;
const isOver = ({ status }: { status: string }) => status !== 'pending' && status !== 'running';

/** Every kind but plain backups, which have a measurement of their own, and imports, which need files of others. */
export const kinds: readonly Kind[] = [
  {
    name: 'merge',
    start: async ({ client, projectIds }, index) => {
      const started = await client.createBackup({ body: { projectId: pick(projectIds, index), type: 'synthetic' } });
      if ('dryRun' in started) throw new Error('a merge was not started');
      return async () => isOver(await client.getBackup({ params: { backupId: started.id } }));
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
      return async () => isOver(await client.getRestore({ params: { restoreJobId } }));
    },
  },
  {
    name: 'drill',
    start: async ({ client, backupIds }, index) => {
      const backupId = pick(backupIds, index);
      const { id } = await client.startDrill({ params: { backupId } });
      return async () => {
        for await (const drill of client.paginate('listDrills', { params: { backupId }, query: { limit: 200 } }))
          if (drill.id === id) return isOver(drill);
        throw new Error('the drill is gone');
      };
    },
  },
  {
    name: 'storage task',
    start: async ({ client, destinationIds }, index) => {
      const storageDestinationId = pick(destinationIds, index);
      const { id: taskId } = await client.rescanStorageDestination({ params: { storageDestinationId } });
      return async () => isOver(await client.getStorageTask({ params: { storageDestinationId, taskId } }));
    },
  },
];

export interface KindResult {
  kind: string;
  queued: number;
  /** Of the jobs asked for before, how many had ended when the neighbour's single one had. */
  endedBefore: number;
  aloneMs: number;
  besideMs: number;
}

/** One tenant asks for many, then the other for one. */
export async function raceKind(kind: Kind, many: Tenant, one: Tenant, queued: number): Promise<KindResult> {
  const aloneMs = await timed(kind, one);
  const asked = await Promise.all(Array.from({ length: queued }, (_, index) => kind.start(many, index)));
  const besideMs = await timed(kind, one);
  const over = await Promise.all(asked.map((hasEnded) => hasEnded()));
  return { kind: kind.name, queued, endedBefore: over.filter(Boolean).length, aloneMs, besideMs };
}

async function timed(kind: Kind, tenant: Tenant): Promise<number> {
  const startedMs = performance.now();
  const hasEnded = await kind.start(tenant, 0);
  while (!(await hasEnded())) await pause(20);
  return Math.round(performance.now() - startedMs);
}
