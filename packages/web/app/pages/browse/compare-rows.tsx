import type { DataOf, Operations } from '@holdfast/contract';
import { useState } from 'react';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { Exact } from '../../components/exact.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { TypeName, Value } from '../../components/value.tsx';
import { useBasket } from '../../shell/basket.ts';
import { t } from '../../texts/index.ts';

type Changed = DataOf<Operations['diffBackup']>['changed'][number];

/** The source of a selected document. */
export interface Picking {
  readonly projectId: string;
  readonly backupId: string;
  readonly from: string;
}

function Pick({ path, picking }: { path: string; picking: Picking | undefined }) {
  const { has, toggle } = useBasket(useWorkplace().organization.id);
  const canRestore = useCan('member');
  if (!canRestore) return null;
  if (!picking) return <span className="w-3.5 shrink-0" />;
  const { projectId, backupId, from } = picking;
  return (
    <input
      type="checkbox"
      aria-label={`${t.browse.pick}: ${path}`}
      checked={has({ path, backupId })}
      onChange={() => toggle(projectId, { path, backupId, from })}
      className="size-3.5 shrink-0 accent-held"
    />
  );
}

/** On a phone the path has its own line. */
const pathAndMore =
  'flex min-w-0 flex-1 items-center justify-between gap-3 max-sm:flex-col max-sm:items-start max-sm:gap-0.5';

interface SideRowProps {
  path: string;
  tone: 'then' | 'now';
  word: string;
  to: string;
  picking?: Picking;
}

export function SideRow({ path, tone, word, to, picking }: SideRowProps) {
  return (
    <li className="flex items-center gap-3 border-line border-b px-4 py-2 text-table last:border-b-0 has-[[data-row]:focus-visible]:bg-held-weak">
      <Pick path={path} picking={picking} />
      <span aria-hidden="true" className={`w-3 font-semibold ${tone === 'then' ? 'text-held' : 'text-risk'}`}>
        {tone === 'then' ? '−' : '+'}
      </span>
      <span className={pathAndMore}>
        <RowLink to={to} data-row="" className="min-w-0 break-all rounded-tag font-medium font-mono hover:underline">
          <Exact text={path} />
        </RowLink>
        <span className="shrink-0 text-meta text-ink3">{word}</span>
      </span>
    </li>
  );
}

export function ChangedRow({ entry, to, picking }: { entry: Changed; to: string; picking: Picking }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="border-line border-b last:border-b-0">
      <div className="flex items-center gap-3 px-4 py-2 text-table has-[[data-row]:focus-visible]:bg-held-weak">
        <Pick path={entry.path} picking={picking} />
        <button
          type="button"
          aria-expanded={isOpen}
          aria-label={`${t.browse.changed}: ${entry.path}`}
          onClick={() => setOpen(!isOpen)}
          className="w-3 font-semibold text-ink2"
        >
          ±
        </button>
        <span className={pathAndMore}>
          <RowLink to={to} data-row="" className="min-w-0 break-all rounded-tag font-medium font-mono hover:underline">
            <Exact text={entry.path} />
          </RowLink>
          <button
            type="button"
            onClick={() => setOpen(!isOpen)}
            className="touch shrink-0 text-meta text-held hover:underline"
          >
            {t.browse.fieldsChanged(entry.fields.length)}
          </button>
        </span>
      </div>
      {isOpen && (
        <dl className="border-line border-t bg-bg">
          {entry.fields.map((field) => (
            <div
              key={field.field}
              className="grid grid-cols-[1fr_2fr_2fr] items-start gap-3 border-line border-b px-4 py-1.5 text-table last:border-b-0 max-md:grid-cols-1"
            >
              <dt className="break-words font-medium">
                <Exact text={field.field} />
              </dt>
              <dd className="min-w-0 rounded-tag bg-held-weak px-2">
                {field.before ? (
                  <>
                    <Value value={field.before} /> <TypeName value={field.before} />
                  </>
                ) : (
                  <span className="text-ink3">{t.document.notThere}</span>
                )}
              </dd>
              <dd className="min-w-0 rounded-tag bg-risk-weak px-2">
                {field.after ? (
                  <>
                    <Value value={field.after} /> <TypeName value={field.after} />
                  </>
                ) : (
                  <span className="text-ink3">{t.document.notThere}</span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}
