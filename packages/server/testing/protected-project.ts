import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import { foundOrganization, signUp, type TestPerson } from './people.ts';
import type { TestApp } from './test-app.ts';

/** An organization with a Firestore to back up and a folder for the backups. */
export interface ProtectedProject {
  owner: TestPerson;
  organizationId: string;
  projectId: string;
  destinationId: string;
  firestore: FirestoreSandbox;
  close(): Promise<void>;
}

export async function protectProject(
  app: TestApp,
  options: { email?: string; sourceProjectId?: string; firestore?: FirestoreSandbox } = {},
): Promise<ProtectedProject> {
  const owner = await signUp(app, options.email ?? `owner-${app.platform.ids.next('usr')}@example.com`);
  const organizationId = await foundOrganization(app, owner);
  const firestore = options.firestore ?? (await startFirestoreSandbox());
  const as = { token: owner.token, organizationId };
  const destination = await app.request('POST', '/api/v1/storage-destinations', {
    ...as,
    body: { name: 'Folder', type: 'local', path: `storage/${organizationId}` },
  });
  if (destination.status !== 201) throw new Error(destination.text);
  const project = await app.request('POST', '/api/v1/projects', {
    ...as,
    body: {
      name: 'Shop',
      sourceProjectId: options.sourceProjectId ?? 'shop',
      connection: { type: 'emulator', host: `${firestore.host}:${firestore.port}` },
    },
  });
  if (project.status !== 201)
    throw new Error(
      `${project.text}\n${app
        .logged()
        .split('\n')
        .filter((line) => line.includes('"level":50'))
        .join('\n')}`,
    );
  return {
    owner,
    organizationId,
    firestore,
    projectId: project.body.data.id,
    destinationId: destination.body.data.id,
    close: async () => {
      if (!options.firestore) await firestore.stop();
    },
  };
}

/** Polls until the job at `path` has ended. */
export async function untilEnded(
  app: TestApp,
  path: string,
  as: { token: string; organizationId: string },
  timeoutMs = 60_000,
) {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await app.request('GET', path, as);
    if (answer.status !== 200) throw new Error(answer.text);
    if (!['pending', 'running'].includes(answer.body.data.status)) return answer.body.data;
    if (performance.now() > deadline)
      throw new Error(`still ${answer.body.data.status} after ${timeoutMs} ms: ${answer.text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
