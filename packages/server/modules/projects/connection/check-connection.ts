import { pathOf } from '@holdfast/contract';
import type { Clock } from '../../../platform/clock.ts';
import { answerWithinMs, inTime } from '../../in-time.ts';
import { toJobError } from '../../job-error.ts';
import type { NewProject } from '../project-store.ts';
import type { ConnectionFields, SourceOpener } from './open-source.ts';

export type ConnectionCheck = Required<
  Pick<NewProject, 'connectionStatus' | 'connectionError' | 'connectionCheckedAt'>
>;

/** Connects to the database and says what a person has to repair. Never throws because of the other side. */
export async function checkConnection(
  sources: SourceOpener,
  project: ConnectionFields,
  clock: Clock,
): Promise<ConnectionCheck & { failure: unknown }> {
  const failure = await reach(sources, project);
  const connectionCheckedAt = clock.now();
  if (failure === undefined)
    return { connectionStatus: 'connected', connectionError: null, connectionCheckedAt, failure };
  const connectionError = toJobError(failure, { projectId: project.id, reconnect: reconnectCall(project.id) });
  const connectionStatus = connectionError.code === 'SOURCE_AUTH_ERROR' ? 'unauthorized' : 'error';
  return { connectionStatus, connectionError, connectionCheckedAt, failure };
}

export function reconnectCall(projectId: string): string {
  return `POST ${pathOf('reconnectProject', { projectId })}`;
}

async function reach(sources: SourceOpener, project: ConnectionFields): Promise<unknown> {
  try {
    const firestore = await sources.open(project);
    try {
      const probe = (signal: AbortSignal) => firestore.source.probe({ signal });
      const result = await inTime(answerWithinMs, 'SOURCE_UNAVAILABLE', probe);
      return result.status === 'ok' ? undefined : result.error;
    } finally {
      await firestore.close();
    }
  } catch (error) {
    return error;
  }
}
