import { createContext, useContext, useSyncExternalStore } from 'react';
import { useZone } from '../api/organization.tsx';
import { serviceNow } from '../format/service-clock.ts';
import { formatAge, formatClock, formatDateTime, formatDay, formatHour, formatNearDay } from '../format/times.ts';
import { Tooltip } from './tooltip.tsx';

const stepMs = 15_000;
const listeners = new Set<() => void>();
setInterval(() => {
  for (const listener of listeners) listener();
}, stepMs);

/** The current time, updated as often as shown ages change. */
export function useNow(): number {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => Math.floor(serviceNow() / stepMs) * stepMs,
  );
}

/** True inside a list row. A row is a single Tab stop, so its times take no focus of their own. */
export const RowContext = createContext(false);

interface TimeProps {
  at: string | number | null | undefined;
  /** `full`: 18 Nov 2025 02:46:59 · `near`: Today 02:46:59 · `age`: 7 h ago · `clock`: 02:46:59 · `day`: 18 Nov · `due`: Tomorrow 02:00 */
  as?: 'full' | 'near' | 'age' | 'clock' | 'day' | 'due';
  className?: string;
}

/** In the organization's zone; hover or focus shows UTC and the age. */
export function Time({ at, as = 'full', className = '' }: TimeProps) {
  const zone = useZone();
  const now = useNow();
  const isInRow = useContext(RowContext);
  if (at === null || at === undefined) return null;
  const instant = new Date(at);
  return (
    <Tooltip text={<Details instant={instant} zone={zone} />}>
      <time dateTime={instant.toISOString()} tabIndex={isInRow ? undefined : 0} className={`rounded-tag ${className}`}>
        {shown(instant, as, zone, now)}
      </time>
    </Tooltip>
  );
}

/** Computed only when the tooltip opens. */
function Details({ instant, zone }: { instant: Date; zone: string }) {
  const now = useNow();
  return (
    <span className="flex flex-col">
      <span>{formatDateTime(instant, zone)}</span>
      <span>{formatDateTime(instant, 'UTC')} UTC</span>
      <span>{formatAge(instant, zone, now)}</span>
    </span>
  );
}

function shown(instant: Date, as: TimeProps['as'], zone: string, now: number) {
  if (as === 'age') return formatAge(instant, zone, now);
  if (as === 'clock') return formatClock(instant, zone);
  if (as === 'day') return formatDay(instant, zone, now);
  if (as === 'full') return formatDateTime(instant, zone);
  return (
    <>
      <span className="font-medium">{formatNearDay(instant, zone, now)}</span>{' '}
      {as === 'due' ? formatHour(instant, zone) : formatClock(instant, zone)}
    </>
  );
}
