import { EngineError } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import { toJobError } from '../job-error.ts';
import { lockOrganization, requireBelowLimit } from '../organizations/index.ts';
import { reconnectCall } from './connection/check-connection.ts';
import type { ProjectsContext } from './context.ts';
import { presentProjectSummary } from './present-project.ts';
import { type ProjectRow, projectStore } from './project-store.ts';
import { projectsLimit } from './projects-limit.ts';

/** The project of a database for which backups were found. A lost project is made again, without a connection. */
export async function adoptProject(
  context: ProjectsContext,
  transaction: Transaction,
  organizationId: string,
  database: string,
): Promise<ProjectRow> {
  const [, sourceProjectId = '', databaseId = '(default)'] =
    /^projects\/([^/]+)\/databases\/(.+)$/.exec(database) ?? [];
  const find = () => projectStore.ofDatabase(transaction, organizationId, sourceProjectId, databaseId);
  const known = await find();
  if (known) return known;
  // Two rescans may find backups of it at once: the second one uses the project of the first.
  await lockOrganization(transaction, organizationId);
  const made = await find();
  if (made) return made;
  await requireBelowLimit(transaction, organizationId, projectsLimit(context.platform.config));
  const { ids, clock, outbox } = context.platform;
  const id = ids.next('prj');
  const now = clock.now();
  const lost = new EngineError(
    'SOURCE_AUTH_ERROR',
    'The project was rebuilt from its backups and has no credentials yet.',
  );
  await projectStore.insert(transaction, {
    id,
    organizationId,
    name: databaseId === '(default)' ? sourceProjectId : `${sourceProjectId} ${databaseId}`,
    sourceProjectId,
    databaseId,
    connectionType: 'service_account',
    connectionStatus: 'error',
    connectionError: toJobError(lost, { projectId: id, reconnect: reconnectCall(id) }),
    connectionCheckedAt: now,
    createdAt: now,
    updatedAt: now,
  });
  const row = await projectStore.get(transaction, organizationId, id);
  await outbox.emit(transaction, {
    organizationId,
    type: 'project.created',
    payload: { data: { project: presentProjectSummary(row) }, filter: { projectId: id } },
  });
  await context.audit.noteSystem(transaction, organizationId, {
    action: 'project.created',
    resource: { type: 'project', id },
    details: { name: row.name, sourceProjectId, databaseId, connection: 'none' },
  });
  return row;
}
