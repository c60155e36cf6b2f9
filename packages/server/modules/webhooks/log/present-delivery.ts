import type { RenderedRequest } from '../requests/render-request.ts';
import type { ShownAttempt, ShownDelivery } from './delivery-store.ts';

export function presentDelivery(row: ShownDelivery) {
  return {
    id: row.id,
    eventId: row.eventId,
    eventType: row.eventType,
    status: row.status,
    statusCode: row.statusCode,
    timestamp: row.createdAt.toISOString(),
    duration: row.durationMs,
    attempts: row.attempts,
    nextAttemptAt: row.status === 'pending' ? (row.nextAttemptAt?.toISOString() ?? null) : null,
    ...(row.lastError === null ? {} : { lastError: row.lastError }),
    isTest: row.isTest,
  };
}

export function presentRequest(id: string, request: RenderedRequest, attempts: readonly ShownAttempt[]) {
  return {
    id,
    method: 'POST' as const,
    ...request,
    attempts: attempts.map((row) => ({
      attempt: row.attempt,
      timestamp: row.sentAt.toISOString(),
      statusCode: row.statusCode,
      duration: row.durationMs,
      error: row.error,
      responseBody: row.responseBody,
    })),
  };
}
