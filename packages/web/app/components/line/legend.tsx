import type { ReactNode } from 'react';
import { t } from '../../texts/index.ts';
import { Legend, LegendEntry } from '../legend.tsx';

export function LineLegend() {
  const { legend } = t.overview;
  return (
    <Legend>
      <Entry text={legend.full}>
        <rect x="6" y="1" width="7" height="14" rx="2" className="fill-held" />
      </Entry>
      <Entry text={legend.increment}>
        <path d="M9 1v14" className="stroke-held" strokeWidth="2" />
      </Entry>
      <Entry text={legend.synthetic}>
        <rect x="6" y="1" width="6" height="14" rx="2" className="fill-surface stroke-held" strokeWidth="1.8" />
      </Entry>
      <AnySecond />
      <Gap />
      <Entry text={legend.failed}>
        <path d="M6 5l6 6m0-6l-6 6" className="stroke-fail-mark" strokeWidth="1.8" />
      </Entry>
      <Entry text={legend.due}>
        <circle cx="9" cy="8" r="3.2" className="fill-surface stroke-control" strokeWidth="1.6" />
      </Entry>
      <Entry text={legend.drill}>
        <circle cx="9" cy="8" r="5" className="fill-held" />
        <path d="M6.8 8l1.6 1.6 3-3.2" fill="none" className="stroke-surface" strokeWidth="1.4" />
      </Entry>
    </Legend>
  );
}

/** The legend of what can be reached. */
export function ReachLegend() {
  return (
    <Legend>
      <AnySecond />
      <Gap />
    </Legend>
  );
}

function AnySecond() {
  return (
    <Entry text={t.overview.legend.any}>
      <rect x="0" y="4" width="18" height="8" className="fill-band stroke-held-mark" />
    </Entry>
  );
}

function Gap() {
  return (
    <Entry text={t.overview.legend.gap}>
      <rect x="5" y="2" width="8" height="12" rx="2" className="fill-surface stroke-risk-mark" strokeWidth="1.4" />
      <path d="M6 13l6 -10" className="stroke-risk-mark" strokeWidth="1.4" />
    </Entry>
  );
}

function Entry(props: { text: string; children: ReactNode }) {
  return <LegendEntry width={18} height={16} {...props} />;
}
