import { instantFromDate } from '@holdfast/engine';
import type { OutboxEvent } from '../../platform/outbox.ts';
import { type ProjectRow, presentProjectSummary } from '../projects/index.ts';
import type { UntoldChanges } from './tables.ts';

export interface PitrInEvent {
  enabled: boolean;
  status: string;
  coveredFrom: string | null;
  coveredTo: string | null;
}

export function pitrSwitched(
  type: 'pitr.enabled' | 'pitr.disabled',
  project: ProjectRow,
  pitr: PitrInEvent,
): OutboxEvent {
  const { enabled, status, coveredFrom, coveredTo } = pitr;
  const summary = { enabled, status, coveredFrom, coveredTo };
  return {
    organizationId: project.organizationId,
    type,
    payload: { data: { project: presentProjectSummary(project), pitr: summary }, filter: { projectId: project.id } },
  };
}

/** Many changes in one event. */
export function changesCaptured(project: ProjectRow, untold: UntoldChanges): OutboxEvent {
  const changes = {
    count: untold.count,
    fromTimestamp: toMilliseconds(untold.from),
    toTimestamp: toMilliseconds(untold.to),
    collections: untold.collections,
  };
  return {
    organizationId: project.organizationId,
    type: 'pitr.change_captured',
    payload: {
      data: { project: { id: project.id, name: project.name }, changes },
      filter: { projectId: project.id },
    },
  };
}

/** Instants of the database have nine fractional digits; people and events see three. */
export function toMilliseconds(instant: string): string {
  return new Date(instant).toISOString();
}

/** The first millisecond that is not before the instant, so that the shown time can be reached. */
export function toMillisecondsUp(instant: string): string {
  const isExact = /^0*Z$/.test(instant.slice(23));
  return new Date(Date.parse(instant) + (isExact ? 0 : 1)).toISOString();
}

/** With all digits if it has more than milliseconds: a shortened time would be before the last commit. */
export function toExact(instant: string): string {
  const rounded = toMilliseconds(instant);
  return instantFromDate(new Date(rounded)) === instant ? rounded : instant;
}

export interface MassDeletion extends Record<string, unknown> {
  readonly reason: 'mass_deletion';
  readonly deletes: number;
  readonly documents: number;
  /** The instant just before it. */
  readonly momentBefore: string;
  /** That one or, where it cannot be reached, the last one before it that can. Null without one. */
  readonly suggestedPointInTime: string | null;
  readonly collections: string[];
}

export function massDeletion(project: ProjectRow, anomaly: MassDeletion): OutboxEvent {
  return {
    organizationId: project.organizationId,
    type: 'pitr.anomaly',
    payload: { data: { project: presentProjectSummary(project), anomaly }, filter: { projectId: project.id } },
  };
}
