import type { WebhookBenchHouse } from './house.ts';
import type { ReceiverReport } from './receiver.ts';

export interface Verdict {
  events: number;
  deliveries: number;
  /** Pairs of event and webhook without a delivery. */
  missing: number;
  /** Deliveries that healthy endpoints never accepted. */
  lost: number;
  /** Pairs of event and webhook with more than one delivery. */
  doubled: number;
  wrongTenant: number;
  badSignatures: number;
  /** Requests for what an endpoint had accepted before: at least once means a few after a kill. */
  repeated: number;
}

/** Holds what was emitted against the log in the database and against what the endpoints really got. */
export async function judge(
  house: WebhookBenchHouse,
  events: Map<string, string[]>,
  report: ReceiverReport,
): Promise<Verdict> {
  const pairs = await house.rows<{ pair: string }>(
    `select webhook_id || ' ' || event_id as pair from webhook_deliveries`,
  );
  const logged = new Set(pairs.map((row) => row.pair));
  const accepted = new Set(report.accepted);
  const foreign = await house.rows<{ count: number }>(
    `select count(*)::int as count from webhook_deliveries d join webhooks w on w.id = d.webhook_id join outbox_events e on e.id = d.event_id
      where d.organization_id <> w.organization_id or e.organization_id <> w.organization_id`,
  );
  let missing = 0;
  let lost = 0;
  for (const webhook of house.webhooks) {
    for (const event of events.get(webhook.organizationId) ?? []) {
      if (!logged.has(`${webhook.id} ${event}`)) missing++;
      if (webhook.behaviour !== 'ok') continue;
      if (!accepted.has(`${webhook.path} ${event}`)) lost++;
    }
  }
  return {
    events: [...events.values()].reduce((sum, ids) => sum + ids.length, 0),
    deliveries: pairs.length,
    missing,
    lost,
    doubled: pairs.length - logged.size,
    wrongTenant: report.foreign + (foreign[0]?.count ?? 0),
    badSignatures: report.badSignatures,
    repeated: report.repeated,
  };
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
