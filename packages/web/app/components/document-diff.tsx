import { type ReactNode, useState } from 'react';
import {
  areMaps,
  changedPart,
  type DiffRow,
  diffRows,
  type Fields,
  type FirestoreValue,
  isSameValue,
} from '../format/values.ts';
import { t } from '../texts/index.ts';
import { Exact } from './exact.tsx';
import { useFirstRows } from './first-rows.tsx';
import { TypeName, Value } from './value.tsx';

interface DiffProps {
  then: Fields | null;
  now: Fields | null;
  thenTitle: ReactNode;
  nowTitle: ReactNode;
  /** Absent: the live document. */
  nowWord?: string;
  onlyChanged: boolean;
  /** Builds the link for a reference value. */
  linkTo: (name: string) => string | undefined;
}

export function countChanges(then: Fields | null, now: Fields | null) {
  const rows = diffRows(then, now);
  const count = (change: DiffRow['change']) => rows.filter((row) => row.change === change).length;
  return { changed: count('changed'), added: count('added'), removed: count('removed') };
}

/** Then in teal at the left, Now in amber at the right: here the good version is the old one, so nothing is red or green. */
export function DocumentDiff({
  then,
  now,
  thenTitle,
  nowTitle,
  nowWord = t.document.now,
  onlyChanged,
  linkTo,
}: DiffProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const rows = diffRows(then, now, open).filter((row) => !onlyChanged || row.change !== 'same');
  const { shown, more } = useFirstRows(rows);
  const toggle = (id: string) => setOpen(open.symmetricDifference(new Set([id])));
  return (
    <>
      <table aria-label={t.document.whatChanged} className="w-full table-fixed border-collapse text-table max-md:block">
        <thead className="max-md:sr-only">
          <tr className="border-line border-y bg-bg text-left text-meta">
            <th scope="col" className="w-36 px-4 py-2 font-medium text-ink2 2xl:w-[16%]">
              {t.document.field}
            </th>
            <th scope="col" className="px-4 py-2 font-normal">
              <span className="mr-2 font-semibold text-held">{t.document.then}</span> {thenTitle}
            </th>
            <th scope="col" className="border-line border-l px-4 py-2 font-normal">
              <span className="mr-2 font-semibold">{nowWord}</span> {nowTitle}
            </th>
          </tr>
        </thead>
        <tbody className="max-md:block">
          {shown.map((row) => {
            const fold = {
              isOpen: isOpened(row) || open.has(row.id),
              onToggle: isOpened(row) ? undefined : () => toggle(row.id),
              linkTo,
            };
            return (
              <tr key={row.id} className="border-line border-b max-md:block">
                <th
                  scope="row"
                  className={`px-4 py-2 text-left align-top max-md:block max-md:pb-0 ${row.change === 'same' ? 'font-normal text-ink2' : 'font-semibold'}`}
                >
                  <span className="break-words" style={{ paddingLeft: row.depth * 14 }}>
                    <Exact text={row.name} />
                  </span>
                </th>
                <Side
                  value={row.then}
                  mark={row.change === 'changed' || row.change === 'removed' ? '−' : ''}
                  tone="then"
                  other={row.now}
                  fold={fold}
                />
                <Side
                  value={row.now}
                  mark={row.change === 'changed' || row.change === 'added' ? '+' : ''}
                  tone="now"
                  other={row.then}
                  fold={fold}
                />
              </tr>
            );
          })}
        </tbody>
      </table>
      {more}
    </>
  );
}

/** A map with a difference inside is always open. */
const isOpened = ({ then, now }: DiffRow) => areMaps(then, now) && !isSameValue(then, now);

interface SideProps {
  value: FirestoreValue | undefined;
  /** The value on the other side; only the part that differs is marked. */
  other: FirestoreValue | undefined;
  mark: string;
  tone: 'then' | 'now';
  fold: Pick<Parameters<typeof Value>[0], 'isOpen' | 'onToggle' | 'linkTo'>;
}

function Side({ value, other, mark, tone, fold }: SideProps) {
  const weak = mark === '' ? '' : tone === 'then' ? 'bg-held-weak' : 'bg-risk-weak';
  const strong = mark === '' ? '' : tone === 'then' ? 'bg-then' : 'bg-now';
  return (
    <td className={`px-2 py-2 align-top max-md:block ${tone === 'now' ? 'border-line md:border-l' : ''} ${weak}`}>
      <div className="flex items-start gap-1.5">
        <span
          aria-hidden="true"
          className={`w-3 shrink-0 font-semibold ${tone === 'then' ? 'text-held' : 'text-risk'}`}
        >
          {mark}
        </span>
        <span className="md:hidden text-meta text-ink3 w-10 shrink-0">
          {tone === 'then' ? t.document.then : t.document.now}
        </span>
        {value === undefined ? (
          <span className="text-ink3">{t.document.notThere}</span>
        ) : (
          <>
            <ChangedValue value={value} other={mark === '' ? undefined : other} strong={strong} fold={fold} />
            <span className="ml-auto shrink-0 pl-2">
              <TypeName value={value} />
            </span>
          </>
        )}
      </div>
    </td>
  );
}

/** Of two strings only the differing part is highlighted; of anything else the whole value. */
function ChangedValue({
  value,
  other,
  strong,
  fold,
}: Pick<SideProps, 'value' | 'other' | 'fold'> & { strong: string }) {
  if (!value) return null;
  const [text, before] = [value.stringValue, other?.stringValue];
  if (text === undefined || before === undefined || text.length > comparedCharacters)
    return (
      <span className={`min-w-0 rounded-tag px-0.5 ${strong}`}>
        <Value value={value} {...fold} />
      </span>
    );
  const { start, end } = changedPart(text, before);
  return (
    <code className="min-w-0 whitespace-pre-wrap break-words px-0.5 font-mono">
      <span className="text-ink3">"</span>
      <Exact text={shownText(text.slice(0, start))} />
      <mark className={`rounded-tag text-ink ${strong}`}>
        <Exact text={shownText(text.slice(start, end))} />
      </mark>
      <Exact text={shownText(text.slice(end))} />
      <span className="text-ink3">"</span>
    </code>
  );
}

const comparedCharacters = 4000;
const shownText = (text: string) => text.replaceAll('\n', '↵');
