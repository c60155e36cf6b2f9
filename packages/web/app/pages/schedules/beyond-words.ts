import type { Schedule } from '@holdfast/contract';
import { t } from '../../texts/index.ts';

/** The settings of a schedule that the sentence cannot express. */
export function beyondWords(schedule: Schedule, placeOf: (destinationId: string) => string): string {
  const { storageDestinationIds, excludeCollections, includeSubcollections, retention } = schedule;
  const { beyond } = t.schedules;
  const further = storageDestinationIds.slice(1).map(placeOf);
  const parts = [
    further.length > 0 && beyond.also(further),
    excludeCollections.length > 0 && beyond.without(excludeCollections),
    !includeSubcollections && beyond.withoutSub,
    retention !== null && beyond.days(retention),
  ];
  return parts.filter(Boolean).join(' ');
}
