import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { outageOf, readOnlySentence } from '../../platform/database/outage.ts';
import { version } from '../../version.ts';

export type CheckResult = 'ok' | 'error' | 'not configured' | 'unknown';

export interface HealthReport {
  status: 'healthy' | 'degraded' | 'unhealthy';
  version: string;
  timestamp: string;
  checks: { database: CheckResult; redis: CheckResult; storage: CheckResult };
  /** What is wrong with the database, if anything. */
  message?: string;
  houseKeeping: { status: 'ok' | 'late'; late: string[] };
}

export interface HealthSources {
  clock: Clock;
  database: Database;
  checkRedis: () => Promise<CheckResult>;
  checkStorage: () => Promise<CheckResult>;
  /** Periodic tasks that should have succeeded long ago. */
  lateTasks: () => Promise<string[]>;
}

const checkTimeoutMs = 3000;

/** Without its database the service cannot work; without the other parts it works with limits. */
export async function reportHealth(sources: HealthSources): Promise<HealthReport> {
  const [message, redis, storage] = await Promise.all([
    within(checkDatabase(sources.database), 'The database does not answer.'),
    within(sources.checkRedis(), 'error'),
    within(sources.checkStorage(), 'error'),
  ]);
  const database = message === undefined ? 'ok' : 'error';
  const late = database === 'ok' ? await sources.lateTasks().catch(() => []) : [];
  const isDegraded = redis === 'error' || storage === 'error' || late.length > 0;
  return {
    status: database !== 'ok' ? 'unhealthy' : isDegraded ? 'degraded' : 'healthy',
    version,
    timestamp: sources.clock.now().toISOString(),
    // The state of the destinations is in the database.
    checks: { database, redis, storage: database === 'ok' ? storage : 'unknown' },
    ...(message === undefined ? {} : { message }),
    houseKeeping: { status: late.length > 0 ? 'late' : 'ok', late },
  };
}

/** What is wrong with it, if anything. */
async function checkDatabase(database: Database): Promise<string | undefined> {
  try {
    return (await database.isWritable()) ? undefined : readOnlySentence;
  } catch (error) {
    return outageOf(error)?.sentence ?? 'The database cannot be asked; the log says why.';
  }
}

async function within<Result>(check: Promise<Result>, otherwise: Result): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Result>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), checkTimeoutMs);
  });
  try {
    return await Promise.race([check.catch(() => otherwise), late]);
  } finally {
    clearTimeout(timer);
  }
}
