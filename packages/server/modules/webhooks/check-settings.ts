import { allowedEvents, backupTriggers, type EventFormat, invalidSubscriptions } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { type AddressGuard, privateAddressReason } from '../../platform/outbound/address-guard.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import type { WebhooksContext } from './context.ts';
import type { WebhookFilters } from './tables.ts';

/** Refuses at once what is visibly unreachable. The addresses of a name are checked when it is dialled. */
export function checkUrl(guard: AddressGuard, text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') throw invalid('url', 'must be a valid HTTPS URL');
  if (url.username !== '' || url.password !== '')
    throw invalid('url', 'must not hold credentials; send them in headers');
  if (guard.refusesHost(url.hostname)) throw invalid('url', privateAddressReason);
}

export function checkSubscriptions(format: EventFormat, events: readonly string[]): void {
  const invalidValues = invalidSubscriptions(format, events);
  if (invalidValues.length === 0) return;
  throw new Problem('VALIDATION_ERROR', `events: ${invalidValues.join(', ')} cannot be subscribed to`, {
    details: { field: 'events', invalidValues, allowedValues: [...allowedEvents(format)] },
  });
}

/**
 * Refuses a filter that matches nothing, because the webhook would silently get no events. Existing entries may stay.
 */
export async function checkFilters(
  { projectsOf }: Pick<WebhooksContext, 'projectsOf'>,
  transaction: Transaction,
  organizationId: string,
  filters: WebhookFilters,
  before: WebhookFilters = {},
): Promise<void> {
  for (const field of ['trigger', 'excludeTrigger'] as const) {
    const known = new Set<string>([...backupTriggers, ...(before[field] ?? [])]);
    refuseUnknown(`filters.${field}`, 'trigger', filters[field], known, backupTriggers);
  }
  const { projects = [] } = filters;
  const found = projects.length === 0 ? [] : await projectsOf(transaction, organizationId, projects);
  refuseUnknown('filters.projects', 'project', projects, new Set([...found, ...(before.projects ?? [])]));
}

function refuseUnknown(
  field: string,
  kind: string,
  given: readonly string[] = [],
  known: ReadonlySet<string>,
  allowedValues?: readonly string[],
): void {
  const invalidValues = given.filter((value) => !known.has(value));
  if (invalidValues.length === 0) return;
  const reason = `there is no such ${kind}: ${invalidValues.join(', ')}`;
  throw new Problem('VALIDATION_ERROR', `${field}: ${reason}`, {
    details: { field, reason, invalidValues, ...(allowedValues && { allowedValues: [...allowedValues] }) },
  });
}

export function checkTestEvent(format: EventFormat, event: string): void {
  const allowed: readonly string[] = allowedEvents(format);
  if (allowed.includes(event)) return;
  throw new Problem('VALIDATION_ERROR', `event: is not an event of the ${format} format`, {
    details: {
      field: 'event',
      reason: `is not an event of the ${format} format`,
      invalidValues: [event],
      allowedValues: [...allowed],
    },
  });
}
