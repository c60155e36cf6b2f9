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
    /** Set as soon as they are known, so that a refusal can be logged with them. */
    principal: Principal | null;
    organization: OrganizationAccess | null;
    /** An existing organization, requested by a known person who does not belong to it. */
    foreignOrganizationId: string | null;
    /** Why the call was not carried out. */
    problemCode: ErrorCode | null;
  }
}

/** A refused call, for the audit log. */
export interface Denial {
  operation: Operation;
  problem: Problem;
  principal: Principal | null;
  /** The organization of the call, when the caller belongs to it. */
  organization: OrganizationAccess | null;
  /** The existing organization that refused the call, when the caller does not belong to it. */
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
  /** Whether traces are collected. */
  isTraced: boolean;
  trustProxy: boolean | number | string[];
  rateLimitPerMinute: number;
  authRateLimitPerMinute: number;
  refusedRateLimitPerMinute: number;
  streamLimits: StreamLimits;
  /** Aborted as soon as the process is told to stop; it keeps answering for a while. */
  stopping: AbortSignal;
  /** A client that takes longer to send the head of a request is cut off, so that slow senders hold no connections. */
  headersMsMax: number;
  /** Called when a call arrives and when its answer begins. */
  calls: { callBegan(): void; callEnded(): void };
  /** The public origin, known once the socket listens. */
  publicOrigin: () => string;
  onDenied: (denial: Denial) => Promise<void>;
  /** Checks every answer against its schema. For tests, so that a drift is found before a customer finds it. */
  checkAnswers: boolean;
}
