import { createClient } from '@holdfast/contract/client';
import type { App } from '@holdfast/server';

/** The service as the demo uses it: through its API, as a person would. */
export type Client = ReturnType<typeof createClient>;

/** Where the story happens, and those that tell of it no more: the databases of a demo live in memory. */
interface Stage {
  readonly id: string;
  readonly slug: string;
  readonly former: readonly string[];
}

const stages = new WeakMap<App, Promise<Stage>>();

/** The same one however often one signs in. */
export function stageOf(app: App): Promise<Stage> {
  const stage = stages.get(app);
  if (!stage) throw new Error('nobody has signed in yet');
  return stage;
}

/** A folder that holds a demo of before keeps it as it is: this one happens beside it. */
async function chooseStage(anyone: Client): Promise<Stage> {
  const { data } = await anyone.listOrganizations({ query: { limit: 100 } });
  const unused = data.find(({ projectCount }) => projectCount === 0);
  const former = data.filter(({ projectCount }) => projectCount > 0).map(({ name }) => name);
  if (unused) return { id: unused.id, slug: unused.slug, former };
  const name = former.length === 0 ? 'Demo' : `Demo ${former.length + 1}`;
  const { id, slug } = await anyone.createOrganization({ body: { name } });
  return { id, slug, former };
}

/** As a person would: opens the link, and takes the session the browser would get. */
export async function signIn(app: App, link = app.signInLink): Promise<Client> {
  if (!link) throw new Error('there is no sign-in link');
  const response = await fetch(link, { redirect: 'manual' });
  const cookie = response.headers.getSetCookie().find((text) => text.startsWith('holdfast_access='));
  const token = cookie?.split(';')[0]?.split('=')[1];
  if (!token) throw new Error(`the sign-in link was refused (${response.status})`);
  const anyone = createClient({ baseUrl: app.address, token });
  const stage = stages.get(app) ?? chooseStage(anyone);
  stages.set(app, stage);
  return createClient({ baseUrl: app.address, token, organizationId: (await stage).id });
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
