import type { z } from 'zod';
import type { EventFormat, EventName, SimpleEventName } from './events/names.ts';
import { eventNames } from './events/names.ts';
import { simpleSamples, standardSamples } from './events/samples.ts';
import { simpleData } from './events/simple.ts';
import { standardData } from './events/standard.ts';

export * from './events/names.ts';
export { sampleMetadata, simpleSamples, standardSamples } from './events/samples.ts';
export { simpleData, simpleEnvelope } from './events/simple.ts';
export { standardData, standardEnvelope, standardMetadata } from './events/standard.ts';

/** Every event with its data, in each format in which it is sent. */
export interface EventDefinition {
  readonly name: EventName;
  readonly description: string;
  readonly formats: { readonly [F in EventFormat]?: { readonly data: z.ZodType; readonly sample: object } };
}

const descriptions: Readonly<Record<EventName, string>> = {
  'backup.started': 'A backup has started reading.',
  'backup.progress': 'A backup has reached the next 10 %; each step is sent once.',
  'backup.completed': 'A backup is complete in its destination.',
  'backup.failed': 'A backup has failed. A cancelled backup sends no more events.',
  'backup.anomaly': 'A backup shrank suddenly, so retention is frozen; or a verification or a drill failed.',
  'restore.started': 'A restore has started.',
  'restore.progress': 'A restore has reached the next 10 %; each step is sent once.',
  'restore.completed': 'A restore has written everything it was asked to.',
  'restore.failed': 'A restore has ended early: it failed, or somebody cancelled it.',
  'pitr.enabled': 'Point-in-time recovery was switched on for a project.',
  'pitr.disabled': 'Point-in-time recovery was switched off for a project.',
  'pitr.change_captured': 'Changes were captured; one event covers many changes.',
  'pitr.anomaly':
    'Many documents were deleted within a minute; the last moment before it that can be restored is suggested.',
  'schedule.created': 'A schedule was created.',
  'schedule.updated': 'A schedule was changed.',
  'schedule.deleted': 'A schedule was deleted.',
  'schedule.triggered': 'A schedule has started a backup.',
  'schedule.failed': 'A scheduled backup was missed.',
  'storage.connected': 'A storage destination was added or works again.',
  'storage.error': 'A storage destination no longer works.',
  'project.created': 'A project was connected.',
  'project.deleted': 'A project was disconnected.',
  'organization.created': 'An organization was created.',
  'organization.updated': 'Name or settings of the organization changed.',
  'organization.deleted': 'The organization was deleted.',
  'member.joined': 'A person joined the organization.',
  'member.left': 'A person left the organization or was removed.',
  'member.role_changed': 'A member has another role.',
  'invitation.created': 'A person was invited.',
  'invitation.accepted': 'An invited person accepted.',
};

function define(name: EventName): EventDefinition {
  const standard = { data: standardData[name], sample: standardSamples[name] };
  const simpleName = name as SimpleEventName;
  const formats =
    name in simpleData
      ? { standard, simple: { data: simpleData[simpleName], sample: simpleSamples[simpleName] } }
      : { standard };
  return { name, description: descriptions[name], formats };
}

export const events: Readonly<Record<EventName, EventDefinition>> = Object.fromEntries(
  eventNames.map((name) => [name, define(name)]),
) as Record<EventName, EventDefinition>;

/** What the `data` of an event is, by format. */
export type EventData<N extends EventName> = z.infer<(typeof standardData)[N]>;
export type SimpleEventData<N extends SimpleEventName> = z.infer<(typeof simpleData)[N]>;
