import { allowedEvents, type EventFormat, subscriptionMatches } from '@holdfast/contract';
import type { EventPayload } from '../../../platform/event-payload.ts';
import type { WebhookFilters } from '../tables.ts';

export interface Subscriber {
  events: readonly string[];
  format: EventFormat;
  filters: WebhookFilters;
}

/** Whether a webhook gets an event: its format has it, a subscription covers it, and the filters match. */
export function wants(subscriber: Subscriber, type: string, payload: EventPayload): boolean {
  if (!(allowedEvents(subscriber.format) as readonly string[]).includes(type)) return false;
  if (subscriber.format === 'simple' && !payload.simple) return false;
  if (!subscriber.events.some((subscription) => subscriptionMatches(subscription, type))) return false;
  return passes(subscriber.filters, payload.filter ?? {});
}

/** An absent or empty list filters nothing. An event without a project or trigger fails a list that asks for one. */
function passes(filters: WebhookFilters, event: NonNullable<EventPayload['filter']>): boolean {
  const { projects = [], trigger: triggers = [], excludeTrigger = [] } = filters;
  const { projectId, sourceProjectId, trigger } = event;
  const concerns = (id: string | undefined) => id !== undefined && projects.includes(id);
  if (projects.length > 0 && !concerns(projectId) && !concerns(sourceProjectId)) return false;
  if (triggers.length > 0 && (trigger === undefined || !triggers.includes(trigger))) return false;
  return trigger === undefined || !excludeTrigger.includes(trigger);
}
