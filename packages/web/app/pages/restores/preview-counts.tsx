import type { Restore } from '@holdfast/contract';
import { Panel } from '../../components/panel.tsx';
import { formatExact } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';

type PreviewOf = NonNullable<Restore['preview']>;

export const totalOf = (preview: PreviewOf) => preview.create + preview.replace + preview.merge + preview.delete;

const kinds = [
  { key: 'replace', look: 'bg-ink2', mark: 'bg-ink2' },
  { key: 'merge', look: 'bg-move', mark: 'bg-move' },
  { key: 'create', look: 'bg-held-mark', mark: 'bg-held-mark' },
  { key: 'delete', look: 'hatch', mark: 'hatch' },
  { key: 'skip', look: 'bg-sunken border border-control', mark: 'border border-control' },
] as const;

/** The preview's counts as a bar; the smallest slice is still visible. */
export function PreviewCounts({ preview }: { preview: PreviewOf }) {
  const shown = kinds.filter(
    ({ key }) => preview[key] > 0 || key === 'replace' || key === 'create' || key === 'delete' || key === 'skip',
  );
  const { counts } = t.newRestore;
  return (
    <Panel>
      <div role="img" aria-label={t.newRestore.countsLabel} className="mb-4 flex h-4 gap-1">
        {kinds
          .filter(({ key }) => preview[key] > 0)
          .map(({ key, look }) => (
            <span key={key} className={`min-w-6 rounded-tag ${look}`} style={{ flexGrow: preview[key] }} />
          ))}
      </div>
      <dl className="grid grid-cols-2 gap-4 sm:grid-cols-4">
        {shown.map(({ key, mark }) => (
          <div key={key} className="border-line sm:border-r sm:last:border-r-0">
            <dt className="flex items-center gap-2 text-table">
              <span aria-hidden="true" className={`size-2.5 rounded-[3px] ${mark}`} />
              {counts[key]}
            </dt>
            <dd>
              <span
                data-count={key}
                className={`text-page font-semibold ${key === 'delete' && preview.delete > 0 ? 'text-fail' : preview[key] === 0 ? 'text-ink3' : ''}`}
              >
                {formatExact(preview[key])}
              </span>
              <span className="block text-meta text-ink3">{counts[`${key}Hint`](preview[key])}</span>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
