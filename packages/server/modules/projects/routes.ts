import { pathOf } from '@holdfast/contract';
import type { Handlers } from '../../http/call.ts';
import { pageOf } from '../../platform/cursor.ts';
import { toProblem } from '../job-error.ts';
import { changeProject, deleteProject } from './change-project.ts';
import { listGoogleProjects } from './connection/google-projects.ts';
import { countDocuments, readCollections } from './connection/live-collections.ts';
import type { CollectionView } from './connection/nest-collections.ts';
import { reconnectProject } from './connection/reconnect-project.ts';
import { TreeCache } from './connection/tree-cache.ts';
import type { ProjectsContext } from './context.ts';
import { documentBytesGuess, estimateCost } from './cost-estimate.ts';
import { createProject } from './create-project.ts';
import { noStatistics, presentProject } from './present-project.ts';
import { type ProjectRow, projectEtag, projectStore } from './project-store.ts';

async function presentAll(context: ProjectsContext, organizationId: string, rows: readonly ProjectRow[]) {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const { statistics, pitr } = await context.platform.database.tenant(organizationId, async (transaction) => ({
    statistics: await context.dependents.statistics(transaction, organizationId, ids),
    pitr: await context.dependents.pitr(transaction, organizationId, ids),
  }));
  return rows.map((row) => presentProject(row, statistics.get(row.id) ?? noStatistics, pitr.get(row.id)));
}

/** One project in the form of an answer. */
export async function answerProject(context: ProjectsContext, row: ProjectRow) {
  const [data] = await presentAll(context, row.organizationId, [row]);
  return { data: data as NonNullable<typeof data>, etag: projectEtag(row) };
}

export function projectHandlers(context: ProjectsContext): Handlers {
  const { database, cursors } = context.platform;
  const trees = new TreeCache();
  const present = (organizationId: string, rows: readonly ProjectRow[]) => presentAll(context, organizationId, rows);
  const answer = (_organizationId: string, row: ProjectRow) => answerProject(context, row);

  return {
    listProjects: async ({ organization, query }) => {
      const before = cursors.read('projects', organization.id, query.cursor);
      const rows = await projectStore.page(database, organization.id, { limit: query.limit + 1, before });
      const page = pageOf(rows, query.limit, (row) => cursors.write('projects', organization.id, row.id));
      return { data: await present(organization.id, page.rows), nextCursor: page.nextCursor };
    },

    createProject: async (call) => {
      const row = await createProject(context, call, call.body);
      return { ...(await answer(call.organization.id, row)), location: pathOf('getProject', { projectId: row.id }) };
    },

    getProject: async ({ organization, params }) => {
      const row = await database.tenant(organization.id, (transaction) =>
        projectStore.get(transaction, organization.id, params.projectId),
      );
      return answer(organization.id, row);
    },

    updateProject: async (call) => {
      const row = await changeProject(context, call, call.params.projectId, call.body);
      return answer(row.organizationId, row);
    },

    deleteProject: async (call) => {
      const deleteBackups = call.query.deleteBackups ?? false;
      const backups = await deleteProject(context, call, call.params.projectId, deleteBackups);
      const gone = backups === 1 ? '1 backup is' : `${backups} backups are`;
      return { message: `The project is disconnected${deleteBackups ? `; ${gone} deleted` : ''}.` };
    },

    reconnectProject: async (call) => ({
      data: await reconnectProject(context, call, call.params.projectId, call.body),
    }),

    listAvailableProjects: async ({ organization, principal, query }) => {
      if (principal.kind !== 'person') return { data: [], nextCursor: null };
      try {
        const credentials = await context.sources.credentialsOfPerson(principal.userId);
        const found = await listGoogleProjects(context.platform.config, credentials);
        const connected = await projectStore.page(database, organization.id, { limit: 10_000, before: undefined });
        const known = new Set(connected.map((row) => `${row.sourceProjectId} ${row.databaseId}`));
        const after = cursors.read('available', organization.id, query.cursor);
        const rest = found.filter((project) => after === undefined || project.sourceProjectId > after);
        const page = pageOf(rest.slice(0, query.limit + 1), query.limit, (project) =>
          cursors.write('available', organization.id, project.sourceProjectId),
        );
        const data = page.rows.map((project) => ({
          ...project,
          databases: project.databases.map((entry) => ({
            ...entry,
            connected: known.has(`${project.sourceProjectId} ${entry.databaseId}`),
          })),
        }));
        return { data, nextCursor: page.nextCursor };
      } catch (error) {
        throw toProblem(error);
      }
    },

    listProjectCollections: async ({ organization, params, query, signal }) => {
      const row = await database.tenant(organization.id, (transaction) =>
        projectStore.get(transaction, organization.id, params.projectId),
      );
      const after = cursors.read('collections', row.id, query.cursor);
      const kept = after === undefined ? undefined : trees.find(row);
      const tree = kept ?? (await readCollections(context.sources, row, signal));
      const start = after === undefined ? 0 : tree.findIndex((node) => node.path === after) + 1;
      const page = pageOf(tree.slice(start, start + query.limit + 1), query.limit, (node: CollectionView) =>
        cursors.write('collections', row.id, node.path),
      );
      if (page.nextCursor !== null && !kept) trees.keep(row, tree);
      return { data: page.rows, nextCursor: page.nextCursor };
    },

    estimateProjectCost: async ({ organization, params, signal }) => {
      const { row, bytesPerDocument } = await database.tenant(organization.id, async (transaction) => ({
        row: await projectStore.get(transaction, organization.id, params.projectId),
        bytesPerDocument: await context.dependents.bytesPerDocument(transaction, organization.id, params.projectId),
      }));
      const documentCount = await countDocuments(context.sources, row, signal);
      const { readRateLimit, writeRampUp } = row;
      const basis = {
        documentCount,
        bytesPerDocument: bytesPerDocument ?? documentBytesGuess,
        readRateLimit,
        writeRampUp,
      };
      return { data: estimateCost(basis) };
    },
  };
}
