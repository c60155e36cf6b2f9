import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { FirestoreSandbox } from '@holdfast/sandbox';
import type pg from 'pg';
import { LiveDatabase } from '../model/live-database.ts';
import { pause } from '../repetition.ts';
import type { TestResponse } from '../test-app.ts';
import type { Fact, Rules } from './facts.ts';

const settleTimeoutMs = 240_000;

/** The service of a history: in this process, or in processes that are killed meanwhile. */
export interface RetentionService {
  readonly firestore: FirestoreSandbox;
  readonly database: pg.Pool;
  /** The folder of the organization's local destinations. */
  readonly storageFolder: string;
  call(method: string, path: string, body?: object): Promise<TestResponse>;
  /** Runs at once what would run within seconds. */
  hasten?(): Promise<void>;
}

/** One project with one schedule. */
export class RetentionWorld {
  readonly service: RetentionService;
  readonly live: LiveDatabase;
  readonly projectId: string;
  readonly scheduleId: string;

  private constructor(service: RetentionService, live: LiveDatabase, projectId: string, scheduleId: string) {
    this.service = service;
    this.live = live;
    this.projectId = projectId;
    this.scheduleId = scheduleId;
  }

  static async create(service: RetentionService, name: string, rules: Rules, fullEvery: number) {
    const live = new LiveDatabase(name, service.firestore.address);
    await live.edit([{ path: 'users/1', isDelete: false }]);
    const projectId = await addProject(service, name);
    const type = fullEvery === 1 ? { type: 'full' } : { type: 'incremental', fullEvery };
    const made = await must(service, 'POST', '/schedules', {
      projectId,
      name,
      cron: '0 2 * * *',
      enabled: false,
      ...type,
      ...rulesBody(rules),
    });
    return new RetentionWorld(service, live, projectId, made.id);
  }

  call(method: string, path: string, body?: object): Promise<TestResponse> {
    return this.service.call(method, path, body);
  }

  must(method: string, path: string, body?: object) {
    return must(this.service, method, path, body);
  }

  addScratch(name: string): Promise<string> {
    return addProject(this.service, name);
  }

  async untilEnded(path: string): Promise<{ id: string; status: string; error: object | null }> {
    for (const deadline = performance.now() + settleTimeoutMs; ; await pause(50)) {
      const job = await this.must('GET', path);
      if (!['pending', 'running'].includes(job.status)) return job;
      if (performance.now() > deadline) throw new Error(`stuck: ${path} ${JSON.stringify(job)}`);
    }
  }

  /** Lets days pass: moves everything in the project that much into the past. */
  async passDays(days: number): Promise<void> {
    const { database } = this.service;
    const back = (column: string) => `${column} = ${column} - make_interval(hours => 24 * $2)`;
    const columns = ['created_at', 'completed_at', 'expires_at', 'retained_since', 'locked_until'];
    await database.query(`update backups set ${columns.map(back).join()} where project_id = $1`, [
      this.projectId,
      days,
    ]);
    await database.query(`update retention_checks set ${back('due_at')} where project_id = $1`, [this.projectId, days]);
  }

  /** Waits until every job of the project has ended, and retention has checked and removed. */
  async settle(): Promise<void> {
    const { database } = this.service;
    for (const deadline = performance.now() + settleTimeoutMs; ; await pause(100)) {
      const { rows } = await database.query<{ open: string }>(
        `select (select count(*) from backups where project_id = $1 and (status in ('pending', 'running')
                    or deleted_at is not null or verification->>'status' = 'running'))
              + (select count(*) from retention_checks where project_id = $1 and due_at <= now()) as open`,
        [this.projectId],
      );
      if (Number(rows[0]?.open) === 0) return;
      await this.service.hasten?.();
      if (performance.now() > deadline) throw new Error(`the project does not come to rest: ${rows[0]?.open} open`);
    }
  }

  /** Runs retention at once, which otherwise happens within three minutes. */
  async lookNow(): Promise<void> {
    await this.service.database.query('update retention_checks set due_at = now() where project_id = $1', [
      this.projectId,
    ]);
    await this.settle();
  }

  async facts(): Promise<Fact[]> {
    const { rows } = await this.service.database.query(
      `select id, schedule_id as "scheduleId", parent_id as "parentId", stands_for as "standsFor",
              extract(epoch from coalesce(retained_since, completed_at)) * 1000 as "countsFrom",
              retention_days as "retentionDays", legal_hold as "isHeld",
              extract(epoch from locked_until) * 1000 as "lockedUntil", verification->>'status' as verification
         from backups where project_id = $1 and status = 'completed' and deleted_at is null order by id`,
      [this.projectId],
    );
    return rows.map(({ countsFrom, lockedUntil, ...row }) => ({
      ...row,
      countsFromMs: Number(countsFrom),
      lockedUntilMs: lockedUntil === null ? null : Number(lockedUntil),
    }));
  }

  /** Folders of backups without a record. */
  async orphans(): Promise<string[]> {
    const entries = await readdir(this.service.storageFolder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const ids = new Set(files.flatMap((file) => /(bkp_[0-9A-Z]+)/.exec(file)?.[1] ?? []));
    const { rows } = await this.service.database.query<{ id: string }>(
      'select id from backups where id = any($1) and deleted_at is null',
      [[...ids]],
    );
    const owned = new Set(rows.map(({ id }) => id));
    return [...ids].filter((id) => !owned.has(id));
  }

  close(): Promise<void> {
    return this.live.close();
  }
}

export function rulesBody({ days, policy }: Rules): object {
  return days === null ? { retentionPolicy: policy } : { retention: days };
}

async function must(service: RetentionService, method: string, path: string, body?: object) {
  const answer = await service.call(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body.data;
}

async function addProject(service: RetentionService, sourceProjectId: string): Promise<string> {
  const connection = { type: 'emulator', host: service.firestore.address };
  const made = await must(service, 'POST', '/projects', { name: sourceProjectId, sourceProjectId, connection });
  await must(service, 'PATCH', `/projects/${made.id}`, { settings: { writeRampUp: false } });
  return made.id;
}
