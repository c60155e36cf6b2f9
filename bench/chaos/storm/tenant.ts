import { createClient } from '@holdfast/contract/client';
import { type S3Sandbox, sandboxS3Credential } from '@holdfast/sandbox';
import type { Client } from '@holdfast/server/testing/cluster';
import type { WebhookReceiver } from '@holdfast/server/testing/webhook-receiver';
import { Shop, Target } from './shop.ts';

/** An organization with everything switched on: a busy database, two destinations, a nightly backup every minute, a webhook. */
export interface Tenant {
  name: string;
  client: Client;
  projectId: string;
  targetId: string;
  destinationIds: readonly string[];
  scheduleId: string;
  scheduledSinceMs: number;
  webhookId: string;
  hookPath: string;
  shop: Shop;
  target: Target;
}

export interface Surroundings {
  baseUrl: string;
  token: string;
  /** The addresses the service uses; the shop goes by the ones without trouble. */
  sourcePort: number;
  targetPort: number;
  s3Port: number;
  source: { address: string };
  target: { address: string };
  s3: S3Sandbox;
  receiver: WebhookReceiver;
}

const permissions = [
  'backups:read',
  'backups:create',
  'backups:restore',
  'schedules:read',
  'organization:read',
] as const;

export async function furnish(name: string, organizationId: string, around: Surroundings): Promise<Tenant> {
  const { baseUrl, token } = around;
  const owner = createClient({ baseUrl, token, organizationId });
  const shop = new Shop(name, around.source.address);
  await shop.open();
  const [projectId, targetId] = [
    await addProject(owner, name, around.sourcePort),
    await addProject(owner, `${name}-copy`, around.targetPort),
  ];
  const destinationIds = [await addBucket(owner, name, around), await addFolder(owner)];
  const hookPath = `/${name}`;
  const hook = await owner.createWebhook({
    body: { name, url: `${around.receiver.address}${hookPath}`, events: ['*'], timeout: 5000 },
  });
  const schedule = await owner.createSchedule({
    body: {
      projectId,
      name: 'Every minute',
      cron: '* * * * *',
      type: 'incremental',
      fullEvery: 4,
      retentionPolicy: { last: 6 },
      storageDestinationIds: [...destinationIds],
    },
  });
  const { apiKey } = await owner.createServiceAccount({ body: { name: 'Storm', permissions: [...permissions] } });
  return {
    name,
    client: createClient({ baseUrl, token: apiKey!, timeoutMs: 20_000 }),
    projectId,
    targetId,
    destinationIds,
    scheduleId: schedule.id,
    scheduledSinceMs: Date.now(),
    webhookId: hook.id,
    hookPath,
    shop,
    target: new Target(`${name}-copy`, around.target.address),
  };
}

async function addProject(client: Client, name: string, port: number): Promise<string> {
  const connection = { type: 'emulator' as const, host: `127.0.0.1:${port}` };
  const { id } = await client.createProject({ body: { name, sourceProjectId: name, connection } });
  await client.updateProject({ params: { projectId: id }, body: { settings: { writeRampUp: false } } });
  return id;
}

async function addBucket(client: Client, name: string, { s3Port }: Surroundings): Promise<string> {
  const { accessKeyId, secretAccessKey } = sandboxS3Credential;
  const made = await client.createStorageDestination({
    body: {
      name: 'Bucket',
      type: 's3',
      bucket: 'storm',
      prefix: name,
      region: 'us-east-1',
      endpoint: `http://127.0.0.1:${s3Port}`,
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
    },
  });
  if (made.status !== 'connected') throw new Error(`the bucket does not work: ${made.error?.message}`);
  return made.id;
}

async function addFolder(client: Client): Promise<string> {
  return (await client.createStorageDestination({ body: { name: 'Folder', type: 'local', path: 'folder' } })).id;
}
