import { dayMs, type Overview } from '@holdfast/contract';
import { t } from '../../texts/index.ts';

type Days = Overview['days'];

const shownDays = 30;
const toldApart = 3;

/** Thirty days up to today; days before the first measurement are zero. */
export function lastDays(days: Days): Days {
  const last = Date.parse(days.at(-1)?.day ?? '');
  if (Number.isNaN(last)) return [];
  const known = new Map(days.map((one) => [one.day, one]));
  return Array.from({ length: shownDays }, (_, index) => {
    const day = new Date(last - (shownDays - 1 - index) * dayMs).toISOString().slice(0, 10);
    return known.get(day) ?? { day, storedBytes: 0, storedByDestination: [], readsUsed: 0 };
  });
}

/** The series of one part, day by day. */
export interface Layer {
  readonly id: string;
  readonly name: string;
  readonly values: readonly number[];
}

/** Stored bytes by destination: the largest, and the others as one. */
export function storedLayers(days: Days, destinations: readonly { id: string; name: string }[]): Layer[] {
  const mostOf = new Map<string, number>();
  for (const { storedByDestination } of days)
    for (const { storageDestinationId: id, storedBytes } of storedByDestination)
      mostOf.set(id, Math.max(mostOf.get(id) ?? 0, storedBytes));
  const greatest = [...mostOf].sort((a, b) => b[1] - a[1]).slice(0, toldApart);
  const layers = greatest.map(([id]) => ({
    id,
    name: destinations.find((one) => one.id === id)?.name ?? t.overview.formerStorage,
    values: days.map((day) => day.storedByDestination.find((one) => one.storageDestinationId === id)?.storedBytes ?? 0),
  }));
  const rest = days.map(({ storedBytes }, at) =>
    Math.max(0, storedBytes - layers.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  );
  return rest.some((bytes) => bytes > 0)
    ? [...layers, { id: 'rest', name: t.overview.otherStorage, values: rest }]
    : layers;
}
