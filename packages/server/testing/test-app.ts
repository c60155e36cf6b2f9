import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type App, type AppOverrides, startApp } from '../app.ts';
import { loadConfig } from '../config.ts';
import { OffsetClock } from '../platform/clock.ts';
import { createLogger } from '../platform/log.ts';
import { giveSigningKey } from './signing-key.ts';
import { createTestDatabase } from './test-database.ts';

export const testMasterKey = Buffer.alloc(32, 7).toString('base64');

export interface TestApp extends App {
  readonly clock: OffsetClock;
  /** The owner's connection to the app's database, for direct access. */
  readonly databaseUrl: string;
  readonly folder: string;
  /** Everything the app logged. */
  readonly logged: () => string;
  request(method: string, path: string, options?: RequestOptions): Promise<TestResponse>;
  /** Stops the service but keeps its database and its folder for the next one. */
  stop(options?: { lingers: boolean }): Promise<void>;
}

export interface RequestOptions {
  token?: string;
  organizationId?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Closes the call as soon as its status is known: some streams never end. */
  headOnly?: boolean;
}

export interface TestResponse {
  status: number;
  headers: Headers;
  /** The parsed JSON body; tests read it freely. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about
  body: any;
  text: string;
}

export interface TestAppOverrides
  extends Pick<AppOverrides, 'outbound' | 'dashboardFolder' | 'streamLimits' | 'headersMsMax'> {
  /** The migrated database to copy; for programs that are not tests. */
  templateUrl?: string;
}

/** The whole service on its own database, on a free port, with a movable clock. */
export async function startTestApp(
  environment: Record<string, string> = {},
  { templateUrl, ...overrides }: TestAppOverrides = {},
): Promise<TestApp> {
  const database = await createTestDatabase(templateUrl);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-app-'));
  const clock = new OffsetClock();
  const lines: string[] = [];
  const sink = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) });
  const config = loadConfig({
    PORT: '0',
    DATABASE_URL: database.url,
    HOLDFAST_DATA: folder,
    MASTER_KEY: testMasterKey,
    LOG_LEVEL: 'debug',
    DATABASE_POOL_SIZE: '8',
    RATE_LIMIT_PER_MINUTE: '1000000',
    AUTH_RATE_LIMIT_PER_MINUTE: '1000000',
    REFUSED_RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_UP_POLICY: 'open',
    ORGANIZATIONS_PER_USER_MAX: '10000',
    WEBHOOKS_PER_ORGANIZATION_MAX: '10000',
    PROJECTS_PER_ORGANIZATION_MAX: '10000',
    STORAGE_DESTINATIONS_PER_ORGANIZATION_MAX: '10000',
    SCHEDULES_PER_ORGANIZATION_MAX: '10000',
    SHUTDOWN_GRACE_SECONDS: '1',
    ALLOW_EMULATOR_SOURCES: 'true',
    ALLOW_LOCAL_STORAGE: 'true',
    ...environment,
  });
  const log = createLogger(config.LOG_LEVEL, sink);
  const app = await startApp(config, { clock, log, checkAnswers: true, refuseNestedTransactions: true, ...overrides });
  await giveSigningKey(app.platform);
  let isStopped = false;
  const stop = async (options?: { lingers: boolean }) => {
    if (!isStopped) await app.close(options);
    isStopped = true;
  };
  return {
    ...app,
    clock,
    folder,
    stop,
    databaseUrl: database.url,
    logged: () => lines.join(''),
    request: async (method, path, options) => {
      const answer = await request(app.address, method, path, options);
      if (answer.status !== 500) return answer;
      const told = lines.filter((line) => line.includes(answer.headers.get('x-request-id') ?? '')).join('');
      return { ...answer, text: `${answer.text}\n${told}` };
    },
    close: async () => {
      await stop();
      await database.drop();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

async function request(
  address: string,
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<TestResponse> {
  const headers: Record<string, string> = { ...options.headers };
  if (options.token) headers.authorization = `Bearer ${options.token}`;
  if (options.organizationId) headers['x-organization-id'] = options.organizationId;
  if (options.body !== undefined) headers['content-type'] ??= 'application/json';
  const body =
    options.body === undefined
      ? undefined
      : typeof options.body === 'string'
        ? options.body
        : JSON.stringify(options.body);
  const response = await fetch(new URL(path, address), {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  });
  if (options.headOnly && response.ok) {
    await response.body?.cancel();
    return { status: response.status, headers: response.headers, text: '', body: undefined };
  }
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
