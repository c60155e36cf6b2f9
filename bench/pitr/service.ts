import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@holdfast/contract/client';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { startApiWorld } from '../api-world.ts';
import { SandboxProcess } from '../sandbox-process.ts';

const settings = {
  HOLDFAST_ROLES: 'api,worker,scheduler',
  ALLOW_EMULATOR_SOURCES: 'true',
  OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
  RATE_LIMIT_PER_MINUTE: '1000000',
  LOCAL_SIGN_IN: 'true',
};

type Client = ReturnType<typeof createClient>;

/** The whole service in this process, its Firestore and PostgreSQL in others, a bucket that counts what is asked of it. */
export interface PitrService {
  readonly world: Awaited<ReturnType<typeof startApiWorld>>;
  readonly sandbox: SandboxProcess;
  readonly s3: S3Sandbox;
  readonly client: Client;
  addProject(project: string): Promise<string>;
  /** Switched on, their bases there. */
  enable(...projectIds: readonly string[]): Promise<void>;
  untilCovered(projectId: string, timeMs: number): Promise<void>;
}

export async function withPitrService<Result>(work: (service: PitrService) => Promise<Result>): Promise<Result> {
  const sandbox = await SandboxProcess.start();
  const s3 = await startS3Sandbox({ buckets: ['bench'] });
  const world = await startApiWorld('pitr', settings);
  try {
    const client = await signIn(world.app);
    await client.createStorageDestination({
      body: {
        name: 'Bucket',
        type: 's3',
        bucket: 'bench',
        region: 'us-east-1',
        endpoint: s3.endpoint,
        forcePathStyle: true,
        credentials: sandboxS3Credential,
      },
    });
    await sandbox.tell({ do: 'as-production' });
    return await work({ world, sandbox, s3, client, ...helpers(client, sandbox.address) });
  } finally {
    await world.close();
    await s3.stop();
    sandbox.stop();
  }
}

function helpers(client: Client, host: string) {
  const until = async (what: string, isSo: () => Promise<boolean>) => {
    for (let waitedMs = 0; !(await isSo()); waitedMs += 100) {
      if (waitedMs > 300_000) throw new Error(`${what} did not come about`);
      await sleep(100);
    }
  };
  return {
    addProject: async (project: string) => {
      const connection = { type: 'emulator' as const, host };
      return (await client.createProject({ body: { name: project, sourceProjectId: project, connection } })).id;
    },
    enable: async (...projectIds: readonly string[]) => {
      for (const projectId of projectIds)
        await client.enablePitr({ params: { projectId }, body: { retentionDays: 7 } });
      for (const projectId of projectIds)
        await until('capture', async () => (await client.getPitr({ params: { projectId } })).status === 'running');
    },
    untilCovered: (projectId: string, timeMs: number) =>
      until('the covered time', async () => {
        const { coveredTo } = await client.getPitr({ params: { projectId } });
        return coveredTo !== null && Date.parse(coveredTo) > timeMs;
      }),
  };
}

async function signIn(app: { readonly address: string; readonly signInLink?: string | undefined }): Promise<Client> {
  const response = await fetch(app.signInLink!, { redirect: 'manual' });
  const cookie = response.headers.getSetCookie().find((text) => text.startsWith('holdfast_access='));
  const token = cookie?.split(';')[0]?.slice('holdfast_access='.length) ?? '';
  const anyone = createClient({ baseUrl: app.address, token });
  const { organizations } = await anyone.getMe();
  const organizationId = organizations[0]?.id ?? (await anyone.createOrganization({ body: { name: 'Bench' } })).id;
  return createClient({ baseUrl: app.address, token, organizationId });
}
