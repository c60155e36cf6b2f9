import { createClient } from '@holdfast/contract/client';
import type { App } from '@holdfast/server';

/** The service as the demo uses it: through its API, as a person would. */
export type Client = ReturnType<typeof createClient>;

/** As a person would: opens the link, and takes the session the browser would get. */
export async function signIn(app: App, link = app.signInLink): Promise<Client> {
  if (!link) throw new Error('there is no sign-in link');
  const response = await fetch(link, { redirect: 'manual' });
  const cookie = response.headers.getSetCookie().find((text) => text.startsWith('holdfast_access='));
  const token = cookie?.split(';')[0]?.split('=')[1];
  if (!token) throw new Error(`the sign-in link was refused (${response.status})`);
  const anyone = createClient({ baseUrl: app.address, token });
  const me = await anyone.getMe();
  const organizationId = me.organizations[0]?.id ?? (await anyone.createOrganization({ body: { name: 'Demo' } })).id;
  return createClient({ baseUrl: app.address, token, organizationId });
}

interface Job {
  status: string;
  error: { message: string } | null;
}

/** Completed, or an error. */
export async function until<J extends Job>(id: string, read: () => Promise<J>): Promise<J> {
  const job = await untilOver(read);
  if (job.status !== 'completed') throw new Error(`${id} ${job.status}: ${job.error?.message ?? ''}`);
  return job;
}

async function untilOver<J extends Job>(read: () => Promise<J>): Promise<J> {
  for (;;) {
    const job = await read();
    if (['completed', 'failed', 'cancelled'].includes(job.status)) return job;
    await pause();
  }
}

export async function backUp(client: Client, projectId: string, type: 'full' | 'incremental') {
  const id = await startBackup(client, projectId, type);
  return until(id, () => client.getBackup({ params: { backupId: id } }));
}

export async function startBackup(client: Client, projectId: string, type: 'full' | 'incremental'): Promise<string> {
  const started = await client.createBackup({ body: { projectId, type } });
  if ('dryRun' in started) throw new Error('a backup was not started');
  return started.id;
}

export function pause(ms = 50): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
