import type { ErrorCode, Operation } from '@holdfast/contract';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import type { Ids } from '../platform/ids.ts';
import type { Logger } from '../platform/log.ts';
import type { OrganizationAccess, Principal } from '../platform/principal.ts';
import type { Problem } from '../platform/problem.ts';
import type { RateLimiter } from '../platform/rate-limit.ts';
import type { Authenticator } from './authentication.ts';
import type { Handlers } from './call.ts';
import type { Metrics } from './metrics.ts';
import type { StreamLimits } from './streams.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set as soon as they are known, so that a denial can be told with them. */
    principal: Principal | null;
    organization: OrganizationAccess | null;
    /** An organization that exists, asked for by a known person who does not belong to it. */
    foreignOrganizationId: string | null;
    /** Why the call was not carried out. */
    problemCode: ErrorCode | null;
  }
}

/** A call that was refused; the audit log wants to know. */
export interface Denial {
  operation: Operation;
  problem: Problem;
  principal: Principal | null;
  /** The organization the call was made in, when the caller belongs to it. */
  organization: OrganizationAccess | null;
  /** The existing organization it was refused by, when the caller does not belong to it. */
  foreignOrganizationId: string | null;
  requestId: string;
  ip: string;
  userAgent: string | null;
}

export interface HttpOptions {
  handlers: Handlers;
  authenticator: Authenticator;
  database: Database;
  limiter: RateLimiter;
  clock: Clock;
  ids: Ids;
  log: Logger;
  metrics: Metrics;
  /** Whether somebody listens to traces. */
  isTraced: boolean;
  trustProxy: boolean | number | string[];
  rateLimitPerMinute: number;
  authRateLimitPerMinute: number;
  refusedRateLimitPerMinute: number;
  streamLimits: StreamLimits;
  /** Aborted as soon as the process is told to stop; it goes on answering for a while. */
  stopping: AbortSignal;
  /** Whoever takes longer to send the head of a request is cut off, so that slow senders hold no connections. */
  headersMsMax: number;
  /** Told when a call comes and when its answer begins. */
  calls: { callBegan(): void; callEnded(): void };
  /** The origin people use, known once the socket listens. */
  publicOrigin: () => string;
  onDenied: (denial: Denial) => Promise<void>;
  /** Checks every answer against its schema. For tests: a drift becomes an error instead of a surprise at a customer's. */
  checkAnswers: boolean;
}
