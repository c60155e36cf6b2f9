import type { ProjectsContext } from '../context.ts';
import { type ProjectRow, projectStore } from '../project-store.ts';
import { type ConnectionCheck, checkConnection } from './check-connection.ts';

interface Consenting {
  userId: string;
  email: string;
}

/**
 * Checks a person's projects, and those that wait for them, after a new consent. A failure does not stop the others.
 */
export async function renewConsent(context: ProjectsContext, userId: string, email: string): Promise<void> {
  const { database, clock, log } = context.platform;
  const rows = await database.system((transaction) => projectStore.ofConsent(transaction, userId));
  for (const row of rows) {
    const fields = { projectId: row.id, userId };
    try {
      const owned = { ...row, connectionUserId: userId };
      const { failure: _, ...check } = await checkConnection(context.sources, owned, clock);
      if (!(await take(context, row, { userId, email }, check))) log.info(fields, 'a consent was not taken');
    } catch (error) {
      log.warn({ ...fields, err: error }, 'a project was not checked after a consent');
    }
  }
}

/** The check may take long: the person may have left since, or the project may be gone or have a key now. */
function take(
  context: ProjectsContext,
  { id, organizationId }: ProjectRow,
  { userId, email }: Consenting,
  check: ConnectionCheck,
): Promise<boolean> {
  const { database, clock } = context.platform;
  return database.tenant(organizationId, async (transaction) => {
    if ((await context.roleUnderLock(transaction, organizationId, userId)) === undefined) return false;
    const locked = await projectStore.lock(transaction, organizationId, id);
    if (!waitsFor(locked, userId)) return false;
    const updatedAt = clock.now();
    const isWorking = check.connectionStatus === 'connected';
    if (!isWorking && worksWithout(locked, userId)) {
      await projectStore.update(transaction, locked, { reconnectUserId: null, updatedAt });
      return false;
    }
    const change = { connectionUserId: userId, connectionEmail: email, reconnectUserId: null, updatedAt };
    await projectStore.update(transaction, locked, { ...check, ...change });
    if (isWorking) await context.dependents.reconnected(transaction, locked);
    return true;
  });
}

function waitsFor({ connectionType, connectionUserId, reconnectUserId }: ProjectRow, userId: string): boolean {
  return connectionType === 'oauth' && (connectionUserId === userId || reconnectUserId === userId);
}

/** Whether it works with somebody else's consent. */
function worksWithout({ connectionStatus, connectionUserId }: ProjectRow, userId: string): boolean {
  return connectionStatus === 'connected' && connectionUserId !== null && connectionUserId !== userId;
}
