import type { ReactNode } from 'react';

interface PanelProps {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
  /** No padding around the content. */
  flush?: boolean;
  tone?: 'plain' | 'held' | 'risk' | 'fail' | 'bg';
}

const tones = {
  plain: 'border-line bg-surface',
  held: 'border-held-mark bg-held-weak',
  risk: 'border-risk-mark bg-risk-weak',
  fail: 'border-fail bg-surface',
  bg: 'border-line bg-bg',
} as const;

export function Panel({ title, aside, children, className = '', flush, tone = 'plain' }: PanelProps) {
  return (
    <section className={`min-w-0 rounded-panel border ${tones[tone]} ${className}`}>
      {title !== undefined && (
        <header
          className={`flex flex-wrap items-center justify-between gap-2 px-4 py-3 ${flush ? 'border-line border-b' : 'pb-0'}`}
        >
          <h2 className="text-body font-semibold">{title}</h2>
          {aside && <div className="text-meta text-ink3">{aside}</div>}
        </header>
      )}
      <div className={flush ? 'overflow-hidden rounded-b-panel' : 'px-4 py-3'}>{children}</div>
    </section>
  );
}

/** Names and values in two columns. */
export function Facts({
  rows,
  className = '',
}: {
  rows: readonly (readonly [string, ReactNode] | false | null)[];
  className?: string;
}) {
  return (
    <dl className={`grid grid-cols-[minmax(96px,auto)_1fr] gap-x-4 gap-y-2 text-table ${className}`}>
      {rows.map(
        (row) =>
          row && (
            <div key={row[0]} className="contents">
              <dt className="text-ink3">{row[0]}</dt>
              <dd className="min-w-0 break-words">{row[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
