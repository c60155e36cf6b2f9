import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes } from 'react';
import { useAll } from '../../api/calls.ts';
import { NamedOptions, useFocusOnError } from '../../components/field.tsx';
import { cronOf, type Rhythm, rhythmOf } from '../../format/cron.ts';
import { t } from '../../texts/index.ts';
import { type Draft, keepsSome } from './draft.ts';
import { rhythmWords } from './rhythm-words.ts';
import { useNextRuns } from './use-next-runs.ts';

interface SentenceProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  faults: Readonly<Record<string, string>>;
  /** The project of an existing schedule cannot be changed. */
  isNew: boolean;
}

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];
const words = t.schedules;

/** A schedule as a sentence of selects and small numbers, and the same as cron: either edits the other. */
export function Sentence({ draft, set, faults, isNew }: SentenceProps) {
  const projects = useAll('listProjects', {}).rows ?? [];
  const destinations = useAll('listStorageDestinations', {}).rows ?? [];
  const around = useFocusOnError<HTMLDivElement>(Object.values(faults).join(' ') || undefined);
  const wrongCron = useNextRuns(draft).fault;
  return (
    <div ref={around} className="flex flex-col gap-4 text-body text-ink2">
      <Row>
        {words.sentence.backUp}
        <Select
          label={words.fields.project}
          value={draft.projectId}
          disabled={!isNew}
          onChange={(event) => set({ projectId: event.target.value })}
        >
          <NamedOptions of={projects} />
        </Select>
        <RhythmSelects draft={draft} set={set} />
        <Together>
          {words.sentence.in}
          <Select
            label={words.fields.zone}
            value={draft.timezone}
            onChange={(event) => set({ timezone: event.target.value })}
          >
            {(zones.includes(draft.timezone) ? zones : [draft.timezone, ...zones]).map((zone) => (
              <option key={zone}>{zone}</option>
            ))}
          </Select>
        </Together>
      </Row>
      <Row>
        {words.sentence.make}
        <Select
          label={words.fields.full}
          value={draft.fullEvery}
          onChange={(event) => set({ fullEvery: Number(event.target.value) })}
        >
          {withCurrent([1, 2, 4, 7, 14, 30], draft.fullEvery).map((count) => (
            <option key={count} value={count}>
              {words.every(count)}
            </option>
          ))}
        </Select>
        {draft.fullEvery === 1 ? words.sentence.fullEach : words.sentence.fullOthers}
      </Row>
      <Row>
        {words.sentence.take}
        <Input
          label={words.fields.collections}
          value={draft.collections}
          placeholder={words.allCollections}
          size={16}
          aria-invalid={faults.collections ? true : undefined}
          onChange={(event) => set({ collections: event.target.value })}
        />
        <Together>
          {words.sentence.writeTo}
          <Select
            label={words.fields.destination}
            value={draft.storageDestinationId}
            aria-invalid={faults.storageDestinationId ? true : undefined}
            onChange={(event) => set({ storageDestinationId: event.target.value })}
          >
            <option value="">
              {destinations.length > 0 && !destinations.some(({ isDefault }) => isDefault)
                ? words.noDefaultStorage
                : words.defaultStorage}
            </option>
            <NamedOptions of={destinations} />
          </Select>
        </Together>
        <Fault of={faults.collections} />
        <Fault of={faults.storageDestinationId} />
      </Row>
      <Row>
        {words.sentence.keep}
        {(['last', 'daily', 'weekly', 'monthly', 'yearly'] as const).map((rule) => (
          <span key={rule} className="inline-flex items-center gap-1.5">
            <Input
              label={words.fields[rule]}
              type="number"
              min={0}
              max={1000}
              value={draft.keep[rule]}
              onChange={(event) => set({ keep: { ...draft.keep, [rule]: Math.max(0, Number(event.target.value)) } })}
              className="w-13 px-1! text-center max-sm:w-16"
            />
            {words.sentence[rule]}
          </span>
        ))}
        <KeptInstead draft={draft} />
      </Row>
      <Row>
        {words.sentence.outage}
        <Select
          label={words.fields.catchUp}
          value={draft.catchUp}
          onChange={(event) => set({ catchUp: event.target.value as Draft['catchUp'] })}
        >
          <option value="latest">{words.catchUp.latest}</option>
          <option value="skip">{words.catchUp.skip}</option>
        </Select>
      </Row>
      <Row>
        {words.sentence.prove}
        <Select
          label={words.fields.drill}
          value={draft.drillEvery ?? ''}
          onChange={(event) => set({ drillEvery: event.target.value ? Number(event.target.value) : null })}
        >
          <option value="">{words.never}</option>
          {withCurrent([1, 7, 14, 30], draft.drillEvery).map((count) => (
            <option key={count} value={count}>
              {words.every(count)}
            </option>
          ))}
        </Select>
      </Row>
      <div className="flex flex-wrap items-center gap-3 border-line border-t pt-4 text-table">
        {words.fields.cron}
        <Input
          label={words.fields.cron}
          value={draft.cron}
          aria-invalid={faults.cron || wrongCron ? true : undefined}
          onChange={(event) => set({ cron: event.target.value })}
          className="w-40 font-mono aria-invalid:border-fail"
        />
        <InWords draft={draft} />
        <span className="ml-auto text-ink3">{words.editEither}</span>
        <Fault of={faults.cron ?? wrongCron} />
      </div>
    </div>
  );
}

/** Includes the current value, which may have been set elsewhere; otherwise the select would show another one. */
const withCurrent = (counts: readonly number[], current: number | null) =>
  current === null || counts.includes(current) ? counts : [...counts, current].sort((a, b) => a - b);

function RhythmSelects({ draft, set }: Pick<SentenceProps, 'draft' | 'set'>) {
  const rhythm = rhythmOf(draft.cron);
  const time = 'time' in rhythm ? rhythm.time : '02:00';
  const change = (next: Rhythm) => next.kind !== 'cron' && set({ cron: cronOf(next) });
  const choose = (value: string) => {
    const [kind, number] = value.split(' ');
    if (kind === 'day' || kind === 'weekdays') change({ kind, time });
    if (kind === 'week') change({ kind, time, weekday: Number(number) });
    if (kind === 'hours') change({ kind, every: Number(number), minute: 0 });
  };
  const value =
    rhythm.kind === 'week' ? `week ${rhythm.weekday}` : rhythm.kind === 'hours' ? `hours ${rhythm.every}` : rhythm.kind;
  const hours = [1, 2, 3, 4, 6, 8, 12];
  return (
    <>
      <Select label={words.rhythm.label} value={value} onChange={(event) => choose(event.target.value)}>
        <option value="day">{words.rhythm.day}</option>
        <option value="weekdays">{words.rhythm.weekdays}</option>
        {words.weekdayNames.map((name, index) => (
          <option key={name} value={`week ${index}`}>
            {words.rhythm.week(name)}
          </option>
        ))}
        {(rhythm.kind === 'hours' && !hours.includes(rhythm.every) ? [...hours, rhythm.every] : hours).map((every) => (
          <option key={every} value={`hours ${every}`}>
            {words.rhythm.hours(every)}
          </option>
        ))}
        {rhythm.kind === 'cron' && <option value="cron">{words.rhythm.cron}</option>}
      </Select>
      {'time' in rhythm && (
        <Together>
          {words.sentence.at}
          <Input
            label={words.fields.time}
            type="time"
            required
            value={rhythm.time}
            onChange={(event) => event.target.value && change({ ...rhythm, time: event.target.value })}
          />
        </Together>
      )}
    </>
  );
}

/** The cron expression in words: as in the sentence, or as the service describes it. */
function InWords({ draft }: { draft: Draft }) {
  const { preview, fault } = useNextRuns(draft);
  if (!preview.data || fault) return null;
  const [days, time] = rhythmWords(draft.cron).split(` ${words.sentence.at} `);
  const said = preview.data.description;
  return (
    <span className="text-ink2">
      {time ? `${words.sentence.at} ${time}, ${days}` : said.charAt(0).toLowerCase() + said.slice(1)}
    </span>
  );
}

/** Explains the numbers where they replace another retention or keep everything. */
function KeptInstead({ draft }: { draft: Draft }) {
  const { days } = draft;
  const text = keepsSome(draft) ? days !== null && words.insteadOfDays(days) : days === null && words.keepsAll;
  return text && <p className="w-full text-ink3 text-table">{text}</p>;
}

function Fault({ of }: { of: string | undefined }) {
  return of ? (
    <p role="status" className="w-full text-fail text-meta">
      {of}
    </p>
  ) : null;
}

function Row({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-x-2.5 gap-y-2">{children}</div>;
}

/** Keeps a word and the control after it on one line. */
function Together({ children }: { children: ReactNode }) {
  return <span className="inline-flex max-w-full items-center gap-x-2.5">{children}</span>;
}

function Select({ label, ...rest }: SelectHTMLAttributes<HTMLSelectElement> & { label: string }) {
  return (
    <select
      aria-label={label}
      {...rest}
      className="control chevron field-sizing-content min-w-0 max-w-56 truncate font-medium max-md:max-w-full aria-invalid:border-fail"
    />
  );
}

function Input({ label, className = '', ...rest }: InputHTMLAttributes<HTMLInputElement> & { label: string }) {
  return <input aria-label={label} autoComplete="off" {...rest} className={`control font-medium ${className}`} />;
}
