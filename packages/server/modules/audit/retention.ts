import type { Plan } from '@holdfast/contract';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Transaction } from '../../platform/database/database.ts';
import { dayMs } from '../../platform/durations.ts';
import { type AuditLog, systemActor } from './audit-log.ts';
import { checkpointOf, keepCheckpoint, organizationsWithRows, removeOldest } from './audit-store.ts';
import type { CheckpointSignatures } from './checkpoint-signature.ts';

const daysByPlan: Readonly<Record<Plan, number>> = { starter: 30, professional: 90, enterprise: 365 };
/** How long entries are kept: as the operator sets it, or else as the plan does. */
export const keptDaysOf = (plan: Plan, daysOverride: number | undefined) => daysOverride ?? daysByPlan[plan];

const defaultRowsPerCut = 5000;
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
  rowsPerCut?: number;
}

/** Removes expired rows from the beginning of each chain and leaves a signed checkpoint at the cut. */
export class AuditRetention {
  readonly #options: RetentionOptions;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const failures: unknown[] = [];
    for (let after = ''; ; ) {
      const organizationIds = await this.#options.database.system((transaction) =>
        organizationsWithRows(transaction, after, organizationsPerPage),
      );
      for (const organizationId of organizationIds) {
        signal.throwIfAborted();
        // A chain that cannot be cut does not stop the others, but the run counts as failed.
        await this.trim(organizationId, signal).catch((error: unknown) => failures.push(error));
      }
      const last = organizationIds.at(-1);
      if (last === undefined) break;
      after = last;
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Cuts in bounded pieces, so that no transaction holds its locks for long. */
  async trim(organizationId: string, signal: AbortSignal): Promise<number> {
    const { rowsPerCut = defaultRowsPerCut } = this.#options;
    let removedRows = 0;
    await this.#options.signatures.prepare();
    for (;;) {
      signal.throwIfAborted();
      const removed = await this.#options.database.system((transaction) =>
        this.#cut(transaction, organizationId, rowsPerCut),
      );
      removedRows += removed;
      if (removed < rowsPerCut) break;
    }
    if (removedRows > 0) await this.#tell(organizationId, removedRows);
    return removedRows;
  }

  async #cut(transaction: Transaction, organizationId: string, rowsPerCut: number): Promise<number> {
    const { clock, daysOverride, planOf, signatures } = this.#options;
    const plan = await planOf(transaction, organizationId);
    if (!plan) return 0;
    const now = clock.now();
    const before = new Date(now.getTime() - keptDaysOf(plan, daysOverride) * dayMs);
    const kept = await checkpointOf(transaction, organizationId);
    const removed = await removeOldest(transaction, organizationId, before, rowsPerCut);
    if (!removed) return 0;
    const checkpoint = {
      organizationId,
      position: removed.position,
      hash: removed.hash,
      removedRows: (kept?.removedRows ?? 0) + removed.count,
      createdAt: now,
    };
    await keepCheckpoint(transaction, { ...checkpoint, signature: await signatures.sign(checkpoint) });
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
