import type { Transaction } from '../../platform/database/database.ts';
import { dayMs, hourMs, later } from '../../platform/durations.ts';
import type { StoredError } from '../job-error.ts';
import type { Module } from '../module.ts';
import { adoptProject } from './adopt-project.ts';
import { renewConsent } from './connection/renew-consent.ts';
import type { ProjectsContext } from './context.ts';
import { removeForgotten } from './forgotten-project-store.ts';
import { type ProjectRow, projectStore } from './project-store.ts';
import { answerProject, projectHandlers } from './routes.ts';

export { reconnectCall } from './connection/check-connection.ts';
export { dropConsentOf } from './connection/drop-consent.ts';
export { readTimeOf } from './connection/live-collections.ts';
export { nestCollections } from './connection/nest-collections.ts';
export { SourceOpener } from './connection/open-source.ts';
export type { NamedDatabase } from './connection/sample-firestore.ts';
export { aggregationReads, documentBytesGuess, readCost, readSeconds } from './cost-estimate.ts';
export { backupTimeoutMinutesDefault, type ProjectStatistics, presentProjectSummary } from './present-project.ts';
export { countProjects, databaseName, type MeasuredProject, type ProjectRow, projectStore } from './project-store.ts';

export interface ProjectsModule extends Module {
  /** The project in the form of an answer. */
  answer: (row: ProjectRow) => ReturnType<typeof answerProject>;
  /** A person signed in and gave consent again. */
  consentGiven(userId: string, email: string): Promise<void>;
  /** A job found the connection broken; the project shows it from now on. */
  markBroken(transaction: Transaction, project: ProjectRow, error: StoredError): Promise<void>;
  /** A job read the whole database, so an earlier fault of the connection is over. */
  markWorking(transaction: Transaction, project: ProjectRow): Promise<void>;
  /** The project of a database for which backups were found; made again, without a connection, if it is unknown. */
  adopt(transaction: Transaction, organizationId: string, database: string): Promise<ProjectRow>;
}

/**
 * Disconnected projects without records. Otherwise, connecting and disconnecting repeatedly would fill the database.
 */
const forgottenKeptDays = 30;
const forgottenPerStatement = 1000;

async function forgetDisconnected({ platform: { database, clock } }: ProjectsContext, signal: AbortSignal) {
  const before = later(clock.now(), -forgottenKeptDays * dayMs);
  const forget = (after: string) =>
    database.system((transaction) => removeForgotten(transaction, { before, after, limit: forgottenPerStatement }));
  for (let after: string | undefined = ''; after !== undefined; after = await forget(after)) signal.throwIfAborted();
}

export function createProjectsModule(context: ProjectsContext): ProjectsModule {
  return {
    handlers: projectHandlers(context),
    tasks: [
      {
        name: 'disconnected projects',
        everyMs: hourMs,
        removesByAge: true,
        run: (signal) => forgetDisconnected(context, signal),
      },
    ],
    answer: (row) => answerProject(context, row),
    consentGiven: (userId, email) => renewConsent(context, userId, email),
    adopt: (transaction, organizationId, database) => adoptProject(context, transaction, organizationId, database),
    markWorking: async (transaction, project) => {
      if (project.connectionStatus === 'connected') return;
      const now = context.platform.clock.now();
      await projectStore.update(transaction, project, {
        connectionStatus: 'connected',
        connectionError: null,
        connectionCheckedAt: now,
        updatedAt: now,
      });
    },
    markBroken: async (transaction, project, error) => {
      const connectionStatus = error.code === 'SOURCE_AUTH_ERROR' ? 'unauthorized' : 'error';
      const now = context.platform.clock.now();
      await projectStore.update(transaction, project, {
        connectionStatus,
        connectionError: error,
        connectionCheckedAt: now,
        updatedAt: now,
      });
    },
  };
}
