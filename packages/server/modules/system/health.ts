import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { functionCall } from '../../platform/database/statement.ts';
import { version } from '../../version.ts';

export type CheckResult = 'ok' | 'error' | 'not configured' | 'unknown';

export interface HealthReport {
  status: 'healthy' | 'degraded' | 'unhealthy';
  version: string;
  timestamp: string;
  checks: { database: CheckResult; redis: CheckResult; storage: CheckResult };
  houseKeeping: { status: 'ok' | 'late'; late: string[] };
}

export interface HealthSources {
  clock: Clock;
  database: Database;
  checkRedis: () => Promise<CheckResult>;
  checkStorage: () => Promise<CheckResult>;
  /** House-keeping that should have succeeded long ago. */
  lateTasks: () => Promise<string[]>;
}

const checkTimeoutMs = 3000;
const nothing = functionCall<[], unknown>('select 1');

/** Without its database the service cannot work; without the rest it works with less. */
export async function reportHealth(sources: HealthSources): Promise<HealthReport> {
  const [database, redis, storage] = await Promise.all([
    within(checkDatabase(sources.database)),
    within(sources.checkRedis()),
    within(sources.checkStorage()),
  ]);
  const late = database === 'ok' ? await sources.lateTasks().catch(() => []) : [];
  const isDegraded = redis === 'error' || storage === 'error' || late.length > 0;
  return {
    status: database !== 'ok' ? 'unhealthy' : isDegraded ? 'degraded' : 'healthy',
    version,
    timestamp: sources.clock.now().toISOString(),
    // Which destinations there are and how they are doing stands in the database.
    checks: { database, redis, storage: database === 'ok' ? storage : 'unknown' },
    houseKeeping: { status: late.length > 0 ? 'late' : 'ok', late },
  };
}

async function checkDatabase(database: Database): Promise<CheckResult> {
  await database.call(nothing, []);
  return 'ok';
}

async function within(check: Promise<CheckResult>): Promise<CheckResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CheckResult>((resolve) => {
    timer = setTimeout(() => resolve('error'), checkTimeoutMs);
  });
  try {
    return await Promise.race([check.catch(() => 'error' as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
