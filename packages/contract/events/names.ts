/** The names of all events, and how subscriptions match them. */

/** `standard` is the full format with retries, `simple` the flat one that is sent once. */
export const eventFormats = ['standard', 'simple'] as const;
export type EventFormat = (typeof eventFormats)[number];

const simpleEvents = [
  'backup.started',
  'backup.completed',
  'backup.failed',
  'restore.started',
  'restore.completed',
  'restore.failed',
  'schedule.created',
  'schedule.updated',
  'schedule.deleted',
] as const;

export const eventNames = [
  'backup.started',
  'backup.progress',
  'backup.completed',
  'backup.failed',
  'backup.anomaly',
  'restore.started',
  'restore.progress',
  'restore.completed',
  'restore.failed',
  'pitr.enabled',
  'pitr.disabled',
  'pitr.change_captured',
  'pitr.anomaly',
  'schedule.created',
  'schedule.updated',
  'schedule.deleted',
  'schedule.triggered',
  'schedule.failed',
  'storage.connected',
  'storage.error',
  'project.created',
  'project.deleted',
  'organization.created',
  'organization.updated',
  'organization.deleted',
  'member.joined',
  'member.left',
  'member.role_changed',
  'invitation.created',
  'invitation.accepted',
] as const;

export type EventName = (typeof eventNames)[number];
export type SimpleEventName = (typeof simpleEvents)[number];

/** The events a webhook of this format can subscribe to by name. */
export function allowedEvents(format: EventFormat): readonly EventName[] {
  return format === 'simple' ? simpleEvents : eventNames;
}

export function isEventName(name: string): name is EventName {
  return (eventNames as readonly string[]).includes(name);
}

/**
 * Whether a subscription (`backup.completed`, `backup.*` or `*`) covers an event, also one that is newer than the
 * subscription.
 */
export function subscriptionMatches(subscription: string, event: string): boolean {
  if (subscription === '*' || subscription === event) return true;
  return subscription.endsWith('.*') && event.startsWith(subscription.slice(0, -1));
}

/** The entries that match no event of the format, for `invalidValues` of VALIDATION_ERROR. */
export function invalidSubscriptions(format: EventFormat, subscriptions: readonly string[]): string[] {
  const events = allowedEvents(format);
  return subscriptions.filter((subscription) => !events.some((event) => subscriptionMatches(subscription, event)));
}
