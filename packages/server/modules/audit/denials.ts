import type { Denial } from '../../http/options.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { MemoryRateLimiter } from '../../platform/rate-limit.ts';
import { type AuditLog, actorOf } from './audit-log.ts';

/** Rows per minute that one member's refused calls may write into their organization. */
const ownPerMinute = 60;
/** The same for a person who does not belong there, and for all such people together: anyone can sign up and try. */
const strangerPerMinute = 5;
const strangersPerMinute = 30;

/**
 * Logs refused calls in the organization where they were refused. Only callers with a valid credential are logged:
 * otherwise anybody who knows an organization's id could write into its log. Rows over the limits are dropped.
 */
export class DenialLog {
  readonly #database: Database;
  readonly #log: AuditLog;
  readonly #limiter: MemoryRateLimiter;

  constructor(options: { database: Database; log: AuditLog; clock: Clock }) {
    this.#database = options.database;
    this.#log = options.log;
    this.#limiter = new MemoryRateLimiter(options.clock);
  }

  async record(denial: Denial): Promise<void> {
    const { principal, problem, operation } = denial;
    if (!principal || principal.kind === 'anonymous') return;
    const own = denial.organization?.id ?? (principal.kind === 'key' ? principal.organizationId : null);
    const organizationId = own ?? denial.foreignOrganizationId;
    if (organizationId === null) return;
    const actor = actorOf(principal);
    if (!this.#mayWrite(organizationId, actor.id ?? '', own !== null)) return;
    await this.#database.tenant(organizationId, (transaction) =>
      this.#log.write(transaction, {
        organizationId,
        action: 'auth.denied',
        actor,
        resource: { type: 'operation', id: operation.id },
        origin: { requestId: denial.requestId, ip: denial.ip, userAgent: denial.userAgent },
        details: { code: problem.code, method: operation.method, path: operation.path, ...problem.details },
      }),
    );
  }

  #mayWrite(organizationId: string, actorId: string, belongs: boolean): boolean {
    const caller = `${organizationId} ${actorId}`;
    if (belongs) return this.#limiter.take(caller, ownPerMinute).allowed;
    return (
      this.#limiter.take(caller, strangerPerMinute).allowed &&
      this.#limiter.take(organizationId, strangersPerMinute).allowed
    );
  }
}
