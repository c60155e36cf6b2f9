import { allowedEvents, type EventFormat, invalidSubscriptions } from '@holdfast/contract';
import { type AddressGuard, privateAddressReason } from '../../platform/outbound/address-guard.ts';
import { invalid, Problem } from '../../platform/problem.ts';

/** Refuses at once what can be seen to be unreachable. What a name resolves to is checked when it is dialled. */
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
