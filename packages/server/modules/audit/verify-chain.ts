import type { Database } from '../../platform/database/database.ts';
import { chainEnds, checkpointOf, oldestRows } from './audit-store.ts';
import { type AuditRow, chainStart, hashRow } from './chain-hash.ts';
import type { CheckpointSignatures } from './checkpoint-signature.ts';

export interface Verification {
  valid: boolean;
  entries: number;
  from: string | null;
  to: string | null;
  brokenAt: string | null;
}

const rowsPerPage = 1000;
const attemptsMax = 3;

/**
 * Walks the chain from its beginning, or from the signed cut of retention, to its end. Finds changed, removed, inserted
 * and reordered rows, and rows missing at either end. Reads page by page, each in a short transaction.
 */
export async function verifyChain(
  database: Database,
  signatures: CheckpointSignatures,
  organizationId: string,
  signal: AbortSignal,
): Promise<Verification> {
  for (let attempt = 1; ; attempt++) {
    const walk = new ChainWalk(database, signatures, organizationId, signal);
    const verification = await walk.run();
    // Retention may cut the chain during the walk and remove rows that were still to be read.
    if (verification.valid || attempt === attemptsMax || !(await walk.wasCut())) return verification;
  }
}

class ChainWalk {
  readonly #database: Database;
  readonly #signatures: CheckpointSignatures;
  readonly #organizationId: string;
  readonly #signal: AbortSignal;
  #cut = 0;
  #entries = 0;
  #first: AuditRow | undefined;
  #last: AuditRow | undefined;

  constructor(database: Database, signatures: CheckpointSignatures, organizationId: string, signal: AbortSignal) {
    this.#database = database;
    this.#signatures = signatures;
    this.#organizationId = organizationId;
    this.#signal = signal;
  }

  async run(): Promise<Verification> {
    const { checkpoint, end } = await this.#database.tenant(this.#organizationId, async (transaction) => {
      const found = await checkpointOf(transaction, this.#organizationId);
      return { checkpoint: found, end: await chainEnds(transaction, this.#organizationId, found?.position ?? 0) };
    });
    this.#cut = checkpoint?.position ?? 0;
    const startHash = checkpoint?.hash ?? chainStart;
    const misfit = await this.#walk(startHash, end.position ?? 0);
    if (misfit) return this.#report(misfit.id);
    if (checkpoint && !(await this.#signatures.isGenuine(checkpoint))) return this.#report(this.#first?.id ?? null);
    if (end.strayId) return this.#report(end.strayId);
    const reached = this.#last ?? { position: this.#cut, hash: startHash };
    const whole = reached.position === (end.position ?? 0) && reached.hash === (end.hash ?? chainStart);
    return whole ? this.#report() : this.#report(this.#last?.id ?? null);
  }

  async wasCut(): Promise<boolean> {
    const now = await this.#database.tenant(this.#organizationId, (transaction) =>
      checkpointOf(transaction, this.#organizationId),
    );
    return (now?.position ?? 0) !== this.#cut;
  }

  /** The first row that does not follow the previous one. Rows written after the walk began are left out. */
  async #walk(startHash: string, endPosition: number): Promise<AuditRow | undefined> {
    let hash = startHash;
    let position = this.#cut;
    while (position < endPosition) {
      this.#signal.throwIfAborted();
      const above = position;
      const rows = await this.#database.tenant(this.#organizationId, (transaction) =>
        oldestRows(transaction, this.#organizationId, above, Math.min(rowsPerPage, endPosition - above)),
      );
      if (rows.length === 0) return undefined;
      for (const row of rows) {
        if (row.position !== position + 1 || row.previousHash !== hash || row.hash !== hashRow(row)) return row;
        this.#first ??= row;
        this.#last = row;
        this.#entries++;
        position = row.position;
        hash = row.hash;
      }
    }
    return undefined;
  }

  #report(...broken: [] | [string | null]): Verification {
    return {
      valid: broken.length === 0,
      entries: this.#entries,
      from: this.#first?.timestamp.toISOString() ?? null,
      to: this.#last?.timestamp.toISOString() ?? null,
      brokenAt: broken[0] ?? null,
    };
  }
}
