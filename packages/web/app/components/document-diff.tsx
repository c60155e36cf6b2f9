import type { ReactNode } from 'react';
import { type DiffRow, diffRows, type Fields, type FirestoreValue } from '../format/values.ts';
import { t } from '../texts/index.ts';
import { TypeName, Value } from './value.tsx';

interface DiffProps {
  then: Fields | null;
  now: Fields | null;
  thenTitle: ReactNode;
  nowTitle: ReactNode;
  onlyChanged: boolean;
}

export function countChanges(then: Fields | null, now: Fields | null) {
  const rows = diffRows(then, now);
  const count = (change: DiffRow['change']) => rows.filter((row) => row.change === change).length;
  return { changed: count('changed'), added: count('added'), removed: count('removed') };
}

/** Then in teal at the left, Now in amber at the right: here the good version is the old one, so nothing is red or green. */
export function DocumentDiff({ then, now, thenTitle, nowTitle, onlyChanged }: DiffProps) {
  const rows = diffRows(then, now).filter((row) => !onlyChanged || row.change !== 'same');
  return (
    <table aria-label={t.document.whatChanged} className="w-full table-fixed border-collapse text-table max-md:block">
      <thead className="max-md:sr-only">
        <tr className="border-line border-y bg-bg text-left text-meta">
          <th scope="col" className="w-[16%] px-4 py-2 font-medium text-ink2">
            {t.document.field}
          </th>
          <th scope="col" className="px-4 py-2 font-normal">
            <span className="mr-2 font-semibold text-held">{t.document.then}</span>
            {thenTitle}
          </th>
          <th scope="col" className="border-line border-l px-4 py-2 font-normal">
            <span className="mr-2 font-semibold">{t.document.now}</span>
            {nowTitle}
          </th>
        </tr>
      </thead>
      <tbody className="max-md:block">
        {rows.map((row) => (
          <tr key={row.id} className="border-line border-b max-md:block">
            <th
              scope="row"
              className={`px-4 py-2 text-left align-top max-md:block max-md:pb-0 ${row.change === 'same' ? 'font-normal text-ink2' : 'font-semibold'}`}
            >
              <span className="break-words" style={{ paddingLeft: row.depth * 14 }}>
                {row.name}
              </span>
            </th>
            <Side value={row.then} mark={row.change === 'changed' || row.change === 'removed' ? '−' : ''} tone="then" />
            <Side value={row.now} mark={row.change === 'changed' || row.change === 'added' ? '+' : ''} tone="now" />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Side({ value, mark, tone }: { value: FirestoreValue | undefined; mark: string; tone: 'then' | 'now' }) {
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
            <span className={`min-w-0 rounded-tag px-0.5 ${strong}`}>
              <Value value={value} />
            </span>
            <span className="ml-auto shrink-0 pl-2">
              <TypeName value={value} />
            </span>
          </>
        )}
      </div>
    </td>
  );
}
