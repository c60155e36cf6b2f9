/** Project lists (Firebase, Resource Manager v1 and v3) and the Firestore Admin databases of a project. */

import { GoogleError, page, permissionDenied } from './respond.ts';
import type { DatabaseSeed, GoogleState, Project } from './state.ts';

const pageSizeMax = 100;
const hourMs = 3_600_000;
const weekMs = 7 * 24 * hourMs;

/** Projects the caller can see, by id: a project they have no role in does not show. */
function visibleProjects(state: GoogleState, email: string): Project[] {
  const projects = [...state.projects.values()].filter((project) => state.role(project, email) !== 'none');
  return projects.sort((a, b) => (a.projectId < b.projectId ? -1 : 1));
}

export function listFirebaseProjects(state: GoogleState, email: string, query: URLSearchParams): unknown {
  const { items, nextPageToken } = page(
    visibleProjects(state, email),
    query.get('pageSize'),
    query.get('pageToken'),
    pageSizeMax,
  );
  const results = items.map((project) => ({
    name: `projects/${project.projectId}`,
    projectId: project.projectId,
    projectNumber: project.projectNumber,
    displayName: project.displayName,
    resources: { hostingSite: project.projectId },
    state: 'ACTIVE',
    etag: `1_${project.projectNumber}`,
  }));
  return { results, ...(nextPageToken === undefined ? {} : { nextPageToken }) };
}

export function listResourceProjects(state: GoogleState, email: string, query: URLSearchParams): unknown {
  const { items, nextPageToken } = page(
    visibleProjects(state, email),
    query.get('pageSize'),
    query.get('pageToken'),
    pageSizeMax,
  );
  const projects = items.map((project) => ({
    projectNumber: project.projectNumber,
    projectId: project.projectId,
    lifecycleState: 'ACTIVE',
    name: project.displayName,
    createTime: project.createTime,
  }));
  return { projects, ...(nextPageToken === undefined ? {} : { nextPageToken }) };
}

export function searchResourceProjects(state: GoogleState, email: string, query: URLSearchParams): unknown {
  const wanted = searchTerms(query.get('query') ?? '');
  const matching = visibleProjects(state, email).filter((project) => wanted(project));
  const { items, nextPageToken } = page(matching, query.get('pageSize'), query.get('pageToken'), pageSizeMax);
  const projects = items.map((project) => ({
    name: `projects/${project.projectNumber}`,
    projectId: project.projectId,
    state: 'ACTIVE',
    displayName: project.displayName,
    createTime: project.createTime,
    updateTime: project.createTime,
    etag: `W/"${project.projectNumber}"`,
  }));
  return { projects, ...(nextPageToken === undefined ? {} : { nextPageToken }) };
}

/** `id:abc`, `displayName:Shop*`, `state:ACTIVE`, joined by spaces or AND. */
function searchTerms(text: string): (project: Project) => boolean {
  const terms = text.split(/\s+(?:AND\s+)?/).filter((term) => term.includes(':') || term.includes('='));
  return (project) =>
    terms.every((term) => {
      const [key, value = ''] = term.split(/[:=]/, 2);
      const fields: Record<string, string> = {
        id: project.projectId,
        projectId: project.projectId,
        displayName: project.displayName,
        state: 'ACTIVE',
      };
      const field = fields[key!] ?? '';
      const pattern = value.replaceAll('"', '');
      return pattern.endsWith('*') ? field.startsWith(pattern.slice(0, -1)) : field === pattern;
    });
}

/** Google gives the same answer for a missing project and for one without access. */
export function requireProject(state: GoogleState, projectId: string, email: string): Project {
  const project = state.projects.get(projectId);
  if (project === undefined || state.role(project, email) === 'none') throw permissionDenied();
  return project;
}

export function listDatabases(state: GoogleState, project: Project): unknown {
  return { databases: [...project.databases.values()].map((database) => presentDatabase(state, project, database)) };
}

export function getDatabase(state: GoogleState, project: Project, databaseId: string): unknown {
  const database = project.databases.get(databaseId);
  if (database === undefined) {
    const path = `projects/${project.projectId}/databases/${databaseId}`;
    throw new GoogleError(404, 'NOT_FOUND', `The database ${path} does not exist.`);
  }
  return presentDatabase(state, project, database);
}

function presentDatabase(state: GoogleState, project: Project, database: DatabaseSeed): unknown {
  const createTime = database.createTime ?? project.createTime;
  const retentionMs = database.pointInTimeRecovery === true ? weekMs : hourMs;
  const earliestMs = Math.max(state.now() - retentionMs, Date.parse(createTime));
  return {
    name: `projects/${project.projectId}/databases/${database.databaseId}`,
    uid: `${project.projectNumber}-${database.databaseId}`,
    createTime,
    updateTime: createTime,
    locationId: database.locationId ?? 'nam5',
    type: 'FIRESTORE_NATIVE',
    concurrencyMode: 'PESSIMISTIC',
    versionRetentionPeriod: `${retentionMs / 1000}s`,
    earliestVersionTime: new Date(earliestMs).toISOString(),
    pointInTimeRecoveryEnablement:
      database.pointInTimeRecovery === true ? 'POINT_IN_TIME_RECOVERY_ENABLED' : 'POINT_IN_TIME_RECOVERY_DISABLED',
    appEngineIntegrationMode: 'DISABLED',
    deleteProtectionState: 'DELETE_PROTECTION_DISABLED',
    databaseEdition: 'STANDARD',
    etag: 'IJjZ',
  };
}
