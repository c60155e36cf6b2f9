import type { PitrWindow } from '@holdfast/contract';
import { CircleCheck, RotateCcw, TriangleAlert } from 'lucide-react';
import { type KeyboardEvent, useState } from 'react';
import { useCan, useZone } from '../../api/organization.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Panel } from '../../components/panel.tsx';
import { formatClock, formatDateTime, inputClock, inputDate, instantOf } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';

/** Whether a moment can be reached; if not, the two nearest that can. */
function reachOf(pitr: PitrWindow, atMs: number): { isReachable: boolean; inGap: boolean; nearest: number[] } {
  const [fromMs, toMs] = [Date.parse(pitr.coveredFrom ?? ''), Date.parse(pitr.coveredTo ?? '')];
  if (Number.isNaN(fromMs) || Number.isNaN(toMs)) return { isReachable: false, inGap: false, nearest: [] };
  const gap = pitr.gaps.find((one) => atMs > Date.parse(one.from) && atMs < Date.parse(one.to));
  if (gap) return { isReachable: false, inGap: true, nearest: [Date.parse(gap.from), Date.parse(gap.to)] };
  if (atMs < fromMs) return { isReachable: false, inGap: false, nearest: [fromMs] };
  return atMs > toMs
    ? { isReachable: false, inGap: false, nearest: [toMs] }
    : { isReachable: true, inGap: false, nearest: [] };
}

export function GoBack({ projectId, pitr }: { projectId: string; pitr: PitrWindow }) {
  const zone = useZone();
  const paths = usePaths();
  const canRestore = useCan('member');
  const [search, setSearch] = useSearch();
  const [atMs, setAtMs] = useState(() => Date.parse(search.at ?? pitr.coveredTo ?? new Date().toISOString()));
  const choose = (ms: number) => {
    setAtMs(ms);
    void setSearch({ at: new Date(ms).toISOString() }, { replace: true });
  };
  const set = (date: string, clock: string) => {
    const at = instantOf(date, clock, zone);
    if (at) choose(at.getTime());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1000, ArrowRight: 1000 }[event.key];
    if (step === undefined || !event.altKey) return;
    event.preventDefault();
    choose(atMs + step * (event.shiftKey ? 60 : 1));
  };
  const reach = reachOf(pitr, atMs);
  const [date, clock] = [inputDate(atMs, zone), inputClock(atMs, zone)];
  return (
    <Panel tone={reach.isReachable ? 'plain' : 'risk'} title={t.time.goBack}>
      <fieldset className="flex flex-wrap items-end gap-4" onKeyDown={onKeyDown}>
        <legend className="sr-only">{t.time.goBack}</legend>
        <Field label={t.time.date}>
          <TextInput type="date" value={date} onChange={(event) => set(event.target.value, clock)} />
        </Field>
        <Field label={t.time.clock}>
          <TextInput type="time" step={1} value={clock} onChange={(event) => set(date, event.target.value)} />
        </Field>
        <div role="status" className="text-table">
          {reach.isReachable ? (
            <span className="inline-flex items-center gap-2 text-held">
              <CircleCheck size={16} aria-hidden /> {t.time.reachable}
            </span>
          ) : (
            <span className="inline-flex items-center gap-2 text-risk">
              <TriangleAlert size={16} aria-hidden /> {reach.inGap ? t.time.inGap : t.time.outside}
            </span>
          )}
          <span className="block text-meta text-ink3">{formatDateTime(atMs, 'UTC')} UTC</span>
        </div>
        {reach.nearest.length > 0 && (
          <p className="flex flex-wrap items-center gap-2 text-table">
            {t.time.nearest}
            {reach.nearest.map((ms) => (
              <button
                key={ms}
                type="button"
                onClick={() => choose(ms)}
                className="font-medium text-held hover:underline"
              >
                {formatDateTime(ms, zone)}
              </button>
            ))}
          </p>
        )}
        {canRestore && reach.isReachable && (
          <LinkButton
            kind="primary"
            icon={RotateCcw}
            className="ml-auto"
            to={paths.newRestore({ projectId, at: new Date(atMs).toISOString() })}
          >
            {t.time.restoreTo(formatClock(atMs, zone))}
          </LinkButton>
        )}
      </fieldset>
      <p className="mt-3 text-meta text-ink3">{t.time.deletes}</p>
    </Panel>
  );
}
