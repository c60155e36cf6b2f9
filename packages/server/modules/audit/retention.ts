import type { Plan } from '@holdfast/contract';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Transaction } from '../../platform/database/database.ts';
import { type AuditLog, systemActor } from './audit-log.ts';
import { checkpointOf } from './audit-store.ts';
import type { CheckpointSignatures } from './checkpoint-signature.ts';
import { auditCheckpoints } from './tables.ts';

const daysByPlan: Readonly<Record<Plan, number>> = { starter: 30, professional: 90, enterprise: 365 };
const dayMs = 86_400_000;
const rowsPerCut = 5000;
const organizationsPerPage = 200;

export interface RetentionOptions {
  database: Database;
  clock: Clock;
  log: AuditLog;
  signatures: CheckpointSignatures;
  /** Days for all plans, when the operator sets them. */
  daysOverride: number | undefined;
  /** Undefined for an organization that is gone. */
  planOf: (transaction: Transaction, organizationId: string) => Promise<Plan | undefined>;
}

/** Removes rows past their time from the beginning of each chain and leaves a signed checkpoint at the cut. */
export class AuditRetention {
  readonly #options: RetentionOptions;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let after = ''; ; ) {
      const organizationIds = await this.#organizationsAfter(after);
      for (const organizationId of organizationIds) {
        signal.throwIfAborted();
        await this.trim(organizationId, signal);
      }
      const last = organizationIds.at(-1);
      if (last === undefined) return;
      after = last;
    }
  }

  /** Cuts in bounded pieces, so that no transaction holds its locks for long. */
  async trim(organizationId: string, signal: AbortSignal): Promise<number> {
    let removedRows = 0;
    await this.#options.signatures.prepare();
    for (;;) {
      signal.throwIfAborted();
      const removed = await this.#options.database.system((transaction) => this.#cut(transaction, organizationId));
      removedRows += removed;
      if (removed < rowsPerCut) break;
    }
    if (removedRows > 0) await this.#tell(organizationId, removedRows);
    return removedRows;
  }

  #organizationsAfter(after: string): Promise<string[]> {
    return this.#options.database.system(async ({ client }) => {
      const { rows } = await client.query(
        'select organization_id from audit_chains where organization_id > $1 order by organization_id limit $2',
        [after, organizationsPerPage],
      );
      return rows.map((row) => row.organization_id as string);
    });
  }

  async #cut(transaction: Transaction, organizationId: string): Promise<number> {
    const { clock, daysOverride, planOf, signatures } = this.#options;
    const plan = await planOf(transaction, organizationId);
    if (!plan) return 0;
    const now = clock.now();
    const before = new Date(now.getTime() - (daysOverride ?? daysByPlan[plan]) * dayMs);
    const kept = await checkpointOf(transaction, organizationId);
    const removed = await removeOldest(transaction, organizationId, before);
    if (!removed) return 0;
    const checkpoint = {
      organizationId,
      position: removed.position,
      hash: removed.hash,
      removedRows: (kept?.removedRows ?? 0) + removed.count,
      createdAt: now,
    };
    const signed = { ...checkpoint, signature: await signatures.sign(checkpoint) };
    await transaction.orm
      .insert(auditCheckpoints)
      .values(signed)
      .onConflictDoUpdate({ target: auditCheckpoints.organizationId, set: signed });
    return removed.count;
  }

  async #tell(organizationId: string, removedRows: number): Promise<void> {
    await this.#options.database.tenant(organizationId, (transaction) =>
      this.#options.log.write(transaction, {
        organizationId,
        action: 'audit_log.trimmed',
        actor: systemActor,
        resource: { type: 'audit_log', id: null },
        origin: null,
        details: { removedRows },
      }),
    );
  }
}

interface Removed {
  count: number;
  position: number;
  hash: string;
}

/** Only an unbroken run from the beginning may go, so the run ends before the first row that is young enough to stay. */
async function removeOldest(
  { client }: Transaction,
  organizationId: string,
  before: Date,
): Promise<Removed | undefined> {
  const { rows } = await client.query(
    `with first_kept as (
       select min(position) as position from audit_logs where organization_id = $1 and timestamp >= $2
     ), oldest as (
       select l.position from audit_logs l, first_kept f
        where l.organization_id = $1 and (f.position is null or l.position < f.position)
        order by l.position limit $3
     ), removed as (
       delete from audit_logs l using oldest o
        where l.organization_id = $1 and l.position = o.position returning l.position, l.hash
     )
     select count(*) over ()::int as count, position::float8 as position, hash from removed order by position desc limit 1`,
    [organizationId, before, rowsPerCut],
  );
  return rows[0] as Removed | undefined;
}
