import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { standardSamples } from '@holdfast/contract';
import pg from 'pg';
import { type App, startApp } from '../../packages/server/app.ts';
import { loadConfig } from '../../packages/server/config.ts';
import { startEmbeddedPostgres } from '../../packages/server/platform/database/embedded-postgres.ts';
import { createLogger } from '../../packages/server/platform/log.ts';
import { benchSecret, type ReceiverReport } from './receiver.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
export type Behaviour = 'ok' | 'slow' | 'fail' | 'hang';

export interface BenchWebhook {
  id: string;
  organizationId: string;
  behaviour: Behaviour;
  path: string;
}

/** A database, an API process (this one), endpoints in another process, and delivering processes that can be killed. */
export class WebhookBenchHouse {
  readonly webhooks: BenchWebhook[] = [];
  organizations: string[] = [];
  readonly #folder: string;
  readonly #postgres: { url: string; stop(): Promise<void> };
  readonly #app: App;
  readonly #receiver: ChildProcess;
  readonly #port: number;
  readonly #pool: pg.Pool;

  private constructor(
    folder: string,
    postgres: { url: string; stop(): Promise<void> },
    app: App,
    receiver: ChildProcess,
    port: number,
  ) {
    this.#folder = folder;
    this.#postgres = postgres;
    this.#app = app;
    this.#receiver = receiver;
    this.#port = port;
    this.#pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
    this.#pool.on('error', () => undefined);
  }

  static async open(): Promise<WebhookBenchHouse> {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
    const log = createLogger('error');
    const postgres = await startEmbeddedPostgres({ folder, log });
    const app = await startApp(loadConfig({ ...environment(folder, postgres.url), HOLDFAST_ROLES: 'api' }), { log });
    const receiver = fork(here('./receiver.ts'));
    const { port } = await answerOf(receiver);
    return new WebhookBenchHouse(folder, postgres, app, receiver, port);
  }

  /** Organizations with webhooks each, `*` all of them; `behaviourOf` says how the endpoint of a webhook behaves. */
  async furnish(organizations: number, webhooksEach: number, behaviourOf: (index: number) => Behaviour): Promise<void> {
    const { ids, clock, keyring } = this.#app.platform;
    const now = clock.now();
    for (let index = 0; index < organizations * webhooksEach; index++) {
      if (index % webhooksEach === 0) {
        const id = ids.next('org');
        this.organizations.push(id);
        await this.#pool.query(
          `insert into organizations (id, name, slug, plan, created_at, updated_at) values ($1, $1, lower($1), 'enterprise', $2, $2)`,
          [id, now],
        );
      }
      const organizationId = this.organizations.at(-1) as string;
      const id = ids.next('whk');
      const behaviour = behaviourOf(index);
      const path = `/${behaviour}/${organizationId}/${index}`;
      await this.#pool.query(
        `insert into webhooks (id, organization_id, name, url, events, format, enabled, sealed_secret, sealed_headers, timeout_ms, retry_enabled, filters, created_at, updated_at)
         values ($1, $2, $1, $3, '["*"]', 'standard', true, $4, $5, 30000, true, '{}', $6, $6)`,
        [
          id,
          organizationId,
          `https://localhost:${this.#port}${path}`,
          keyring.seal(benchSecret, `webhook secret ${id}`),
          keyring.seal('{}', `webhook headers ${id}`),
          now,
        ],
      );
      this.webhooks.push({ id, organizationId, behaviour, path });
    }
  }

  /** One event in a transaction of its own, as the features write them. */
  async emit(organizationId: string): Promise<string> {
    const { database, outbox } = this.#app.platform;
    const organization = { id: organizationId, name: organizationId };
    const data = { ...standardSamples['backup.completed'], organization };
    return database.tenant(organizationId, (transaction) =>
      outbox.emit(transaction, { organizationId, type: 'backup.completed', payload: { data } }),
    );
  }

  /** Emits at a steady pace; returns the event ids by organization. */
  async emitPaced(count: number, perSecond: number): Promise<Map<string, string[]>> {
    const events = new Map(this.organizations.map((id) => [id, [] as string[]]));
    const startedMs = performance.now();
    const running = new Set<Promise<void>>();
    for (let index = 0; index < count; index++) {
      const dueMs = (index / perSecond) * 1000 - (performance.now() - startedMs);
      if (dueMs > 1) await new Promise((resolve) => setTimeout(resolve, dueMs));
      const organizationId = this.organizations[index % this.organizations.length] as string;
      const one = this.emit(organizationId).then((id) => void events.get(organizationId)?.push(id));
      running.add(one);
      void one.finally(() => running.delete(one));
      if (running.size >= 12) await Promise.race(running);
    }
    await Promise.all(running);
    return events;
  }

  /** A process that delivers, as it runs in production. */
  async startWorker(): Promise<ChildProcess> {
    const worker = spawn(process.execPath, [here('../../packages/server/main.ts')], {
      env: {
        ...process.env,
        ...environment(this.#folder, this.#postgres.url),
        HOLDFAST_ROLES: 'worker',
        NODE_EXTRA_CA_CERTS: here('../../packages/server/testing/certificates/authority.pem'),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise<void>((resolve, reject) => {
      worker.stdout?.on('data', (chunk) => String(chunk).includes('is running') && resolve());
      worker.once('exit', (code) => reject(new Error(`the delivering process ended with ${code}`)));
    });
    worker.removeAllListeners('exit');
    return worker;
  }

  /** Ends a delivering process, also one that has ended by itself. */
  async endWorker(worker: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const ended = once(worker, 'exit');
    if (worker.exitCode === null && worker.signalCode === null && worker.kill(signal)) await ended;
  }

  async ask(wish: 'report' | 'count' | 'reset'): Promise<ReceiverReport> {
    const answer = answerOf(this.#receiver);
    this.#receiver.send(wish);
    return answer;
  }

  async rows<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
    return (await this.#pool.query<Row>(text)).rows;
  }

  /** Deliveries that healthy endpoints have accepted, by the log. */
  async countAccepted(): Promise<number> {
    return (await this.rows<{ count: number }>(countHealthy))[0]?.count ?? 0;
  }

  /** Waits until healthy endpoints have accepted this many deliveries, or the time is up. */
  async untilAccepted(count: number, timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while ((await this.countAccepted()) < count && performance.now() < deadlineMs) {
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }

  async close(): Promise<void> {
    this.#receiver.disconnect();
    await this.#app.close();
    await this.#pool.end();
    await this.#postgres.stop();
    // The cluster may lie elsewhere, behind a link, when the bench runs as root.
    const cluster = await realpath(join(this.#folder, 'postgres'));
    for (const folder of [cluster, this.#folder]) await rm(folder, { recursive: true, force: true });
  }
}

const countHealthy = `
  select count(*)::int as count from webhook_deliveries d join webhooks w on w.id = d.webhook_id
   where d.status = 'delivered' and w.url like '%/ok/%'`;

async function answerOf(child: ChildProcess): Promise<ReceiverReport> {
  const [message] = await once(child, 'message', { signal: AbortSignal.timeout(60_000) });
  return message as ReceiverReport;
}

function environment(folder: string, databaseUrl: string): Record<string, string> {
  return {
    PORT: '0',
    DATABASE_URL: databaseUrl,
    HOLDFAST_DATA: folder,
    MASTER_KEY: Buffer.alloc(32, 9).toString('base64'),
    LOG_LEVEL: 'warn',
    OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
    SHUTDOWN_GRACE_SECONDS: '1',
  };
}
