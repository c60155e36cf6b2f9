import { EngineError } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { toJobError } from '../../job-error.ts';
import { type NewProject, type ProjectRow, projectStore } from '../project-store.ts';
import { reconnectCall } from './check-connection.ts';

/** The row of a project that has lost the consent it used, and whom to ask. */
export function withoutConsent(project: ProjectRow, reason: string, now: Date): Partial<NewProject> {
  const lost = new EngineError('SOURCE_AUTH_ERROR', `${reason} Somebody who may read the database must reconnect it.`);
  return {
    connectionUserId: null,
    reconnectUserId: null,
    connectionStatus: 'unauthorized',
    connectionError: toJobError(lost, { projectId: project.id, reconnect: reconnectCall(project.id) }),
    connectionCheckedAt: now,
    updatedAt: now,
  };
}

/** A consent is only used while the person is a member. Runs in the transaction in which they leave. */
export async function dropConsentOf(
  transaction: Transaction,
  organizationId: string,
  userId: string,
  now: Date,
): Promise<void> {
  const theirs = await projectStore.ofConsent(transaction, userId);
  for (const project of theirs.filter((row) => row.organizationId === organizationId)) {
    if (project.connectionUserId !== userId) {
      await projectStore.update(transaction, project, { reconnectUserId: null, updatedAt: now });
      continue;
    }
    const who = project.connectionEmail ?? 'a person';
    const reason = `The project was read with the consent of ${who}, who is no longer a member.`;
    await projectStore.update(transaction, project, withoutConsent(project, reason, now));
  }
}
