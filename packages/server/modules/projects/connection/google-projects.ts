import type { Credentials } from '@holdfast/engine';
import { EngineError } from '@holdfast/engine';
import type { Config } from '../../../config.ts';

export interface GoogleProject {
  sourceProjectId: string;
  name: string;
  databases: { databaseId: string; location: string | null }[];
}

const timeoutMs = 20_000;
const projectsMax = 1000;
const concurrency = 8;
/** gRPC's status code. */
const unauthenticated = 16;

/** The Google projects and databases that a person's consent can see. */
export async function listGoogleProjects(config: Config, credentials: Credentials): Promise<GoogleProject[]> {
  const firebase = config.GOOGLE_API_ENDPOINTS.firebase ?? 'https://firebase.googleapis.com';
  const found: { projectId: string; displayName?: string }[] = [];
  for (let pageToken = ''; found.length < projectsMax; ) {
    const page = await getJson(
      `${firebase}/v1beta1/projects?pageSize=100&pageToken=${encodeURIComponent(pageToken)}`,
      credentials,
    );
    found.push(...((page.results as typeof found | undefined) ?? []));
    pageToken = (page.nextPageToken as string | undefined) ?? '';
    if (pageToken === '') break;
  }
  const projects: GoogleProject[] = [];
  for (let start = 0; start < found.length; start += concurrency) {
    const batch = found.slice(start, start + concurrency);
    projects.push(...(await Promise.all(batch.map((project) => describe(config, credentials, project)))));
  }
  return projects.sort((a, b) => (a.sourceProjectId < b.sourceProjectId ? -1 : 1));
}

async function describe(
  config: Config,
  credentials: Credentials,
  project: { projectId: string; displayName?: string },
): Promise<GoogleProject> {
  const databases = await listDatabases(config, credentials, project.projectId);
  return { sourceProjectId: project.projectId, name: project.displayName ?? project.projectId, databases };
}

/** A project whose databases may not be listed is shown without databases instead of being left out. */
async function listDatabases(
  config: Config,
  credentials: Credentials,
  projectId: string,
): Promise<GoogleProject['databases']> {
  const firestore = config.GOOGLE_API_ENDPOINTS.firestore ?? 'https://firestore.googleapis.com';
  try {
    const answer = await getJson(`${firestore}/v1/projects/${encodeURIComponent(projectId)}/databases`, credentials);
    const databases = (answer.databases as { name: string; locationId?: string }[] | undefined) ?? [];
    return databases.map(({ name, locationId }) => ({
      databaseId: name.split('/').at(-1) ?? '',
      location: locationId ?? null,
    }));
  } catch (error) {
    if (error instanceof EngineError && error.code === 'SOURCE_AUTH_ERROR') return [];
    throw error;
  }
}

async function getJson(url: string, credentials: Credentials): Promise<Record<string, unknown>> {
  const authorization = await credentials.authorization().catch((error: unknown) => {
    throw refusedToken(error);
  });
  const response = await fetch(url, {
    headers: { authorization },
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  }).catch((error: unknown) => {
    throw new EngineError('SOURCE_UNAVAILABLE', 'Google did not answer.', { cause: error });
  });
  if (response.ok) return (await response.json()) as Record<string, unknown>;
  const reason = (await response.text()).slice(0, 500);
  if (response.status === 401 || response.status === 403)
    throw new EngineError('SOURCE_AUTH_ERROR', `Google refused the consent: ${reason}`);
  if (response.status === 429) throw new EngineError('SOURCE_QUOTA_EXCEEDED', `Google asks for patience: ${reason}`);
  throw new EngineError('SOURCE_UNAVAILABLE', `Google answered ${response.status}: ${reason}`);
}

/** The token server's gRPC code says whether the consent is gone or only this answer failed. */
function refusedToken(error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message?: string };
  if (error instanceof EngineError || typeof code !== 'number') return error;
  return code === unauthenticated
    ? new EngineError('SOURCE_AUTH_ERROR', `Google refused the consent: ${message}`, { cause: error })
    : new EngineError('SOURCE_UNAVAILABLE', `Google gave no token: ${message}`, { cause: error });
}
