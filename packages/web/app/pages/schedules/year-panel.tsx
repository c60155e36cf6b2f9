import { ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import { Panel } from '../../components/panel.tsx';
import { TableToggle } from '../../components/table-toggle.tsx';
import { useNow } from '../../components/time.tsx';
import { formatDay, formatMonth, inputDate } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { type Draft, keepsSome } from './draft.ts';
import { keptCounts } from './schedule-head.tsx';
import { countOf, type KeptDay, type Rule, rules, yearAhead } from './year-ahead.ts';

const words = t.schedules;
/** A day kept by several rules is drawn once, at the rule with the shortest period. */
const placeOf = ({ rules: by }: KeptDay): Rule => by.at(-1) ?? 'daily';

/** Draws which backups would exist in a year if every run succeeds. */
export function YearPanel({ draft }: { draft: Draft }) {
  const now = useNow();
  const [asTable, setAsTable] = useState(false);
  const todayMs = Date.parse(`${inputDate(now, draft.timezone)}T00:00:00Z`);
  const days = yearAhead(draft, todayMs);
  if (!keepsSome(draft)) return null;
  const label = words.yearLabel(keptCounts(draft.keep));
  const newest = days?.at(-1);
  return (
    <Panel title={words.yearTitle} aside={days && <TableToggle asTable={asTable} onChange={setAsTable} />}>
      <p className="text-table text-ink2">
        {days && newest ? words.yearCount(countOf(days), formatDay(newest.dayMs, 'UTC', now)) : label}
      </p>
      {days && asTable && <DaysTable days={days} now={now} />}
      {days && !asTable && <Picture days={days} now={now} label={label} isFull={draft.fullEvery === 1} />}
      <p className="mt-4 flex gap-2 text-table text-ink2">
        <ShieldCheck size={16} aria-hidden className="mt-0.5 shrink-0 text-held" />
        <span>
          <b className="font-medium text-ink">{words.neverRemoved}:</b> {words.neverRemovedText}
        </span>
      </p>
    </Panel>
  );
}

interface DaysProps {
  days: readonly KeptDay[];
  now: number;
}

/** More marks would overlap: only the newest of a rule are drawn; the table has all. */
const marksMax = 31;

function Picture({ days, now, label, isFull }: DaysProps & { label: string; isFull: boolean }) {
  const parts = rules
    .map((rule) => ({ rule, marks: days.filter((day) => placeOf(day) === rule) }))
    .filter(({ marks }) => marks.length > 0);
  return (
    <div role="img" aria-label={label} className="flex gap-3 overflow-hidden pt-3 pb-1">
      {parts.map(({ rule, marks }) => (
        <div key={rule} className="min-w-16" style={{ flexGrow: Math.min(marksMax, marks.length) }}>
          <p className="truncate border-control border-x border-t pt-1 text-center text-meta font-medium">
            {countOf(marks)} {words.rules[rule]}
          </p>
          <div className="mt-3 flex border-line border-t">
            {marks.slice(-marksMax).map((day, index, shown) => (
              <span key={day.dayMs} className="-mt-2 flex min-w-0 flex-1 flex-col items-center gap-1">
                <span
                  className={`h-4 rounded-[2px] bg-held ${(rule === 'daily' || rule === 'last') && !isFull ? 'w-0.5' : 'w-1.5'}`}
                />
                <span
                  className={`whitespace-nowrap text-meta text-ink3 ${shown.length > 14 ? 'invisible' : ''} ${index > 0 && index < shown.length - 1 ? 'max-lg:invisible' : 'max-sm:invisible'}`}
                >
                  {rule === 'monthly' ? formatMonth(day.dayMs) : dayLabel(day.dayMs, rule, index, now)}
                </span>
              </span>
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

/** Only the first of several days in a row names the month. */
function dayLabel(day: number, rule: Rule, index: number, now: number): string {
  if (rule === 'yearly') return String(new Date(day).getUTCFullYear());
  const text = formatDay(day, 'UTC', now).replace(/ \d{4}$/, '');
  return (rule === 'daily' || rule === 'last') && index > 0 ? (text.split(' ')[0] ?? text) : text;
}

function DaysTable({ days, now }: DaysProps) {
  return (
    <section tabIndex={0} aria-label={words.yearTitle} className="mt-3 max-h-64 overflow-y-auto">
      <table className="w-full text-table">
        <thead className="text-left text-ink2 text-meta">
          <tr>
            <th scope="col">{words.day}</th>
            <th scope="col">{words.retention}</th>
          </tr>
        </thead>
        <tbody>
          {[...days].reverse().map((day) => (
            <tr key={day.dayMs}>
              <th scope="row" className="text-left font-normal">
                {formatDay(day.dayMs, 'UTC', now)}
              </th>
              <td>
                {[...day.rules]
                  .reverse()
                  .map((rule) => (rule === 'last' ? words.ofTheNewest(day.backups) : words.keepers[rule]))
                  .join(', ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
