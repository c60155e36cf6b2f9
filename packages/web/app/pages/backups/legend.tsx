import type { ReactNode } from 'react';
import { Legend, LegendEntry } from '../../components/legend.tsx';
import { t } from '../../texts/index.ts';

export function BackupLegend() {
  return (
    <Legend>
      <Entry text={t.backups.legend.full}>
        <rect x="3" y="1" width="6" height="12" rx="2" className="fill-held" />
      </Entry>
      <Entry text={t.backups.legend.increment}>
        <circle cx="6" cy="7" r="4" className="fill-surface stroke-held-mark" strokeWidth="2" />
      </Entry>
      <Entry text={t.backups.legend.synthetic}>
        <rect x="3" y="1" width="6" height="12" rx="2" className="fill-surface stroke-held" strokeWidth="1.6" />
        <path d="M3.5 5h5M3.5 9h5" className="stroke-held" strokeWidth="1.4" />
      </Entry>
      <Entry text={t.backups.legend.safety}>
        <path d="M6 3l4 4-4 4-4-4z" fill="none" className="stroke-ink2" strokeWidth="1.6" />
      </Entry>
    </Legend>
  );
}

function Entry(props: { text: string; children: ReactNode }) {
  return <LegendEntry width={12} height={14} {...props} />;
}
