import { useState } from 'react';
import { useZone } from '../../api/organization.tsx';
import { Panel } from '../../components/panel.tsx';
import { Scale } from '../../components/scale.tsx';
import { TableToggle } from '../../components/table-toggle.tsx';
import { formatCount, roundUp } from '../../format/numbers.ts';
import { formatClock } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import type { Sample } from './use-restore-progress.ts';

const [width, height] = [320, 90];

interface Rate {
  readonly atMs: number;
  readonly perSecond: number;
}

/** Documents per second, as seen by this page. */
export function WritesChart({ samples }: { samples: readonly Sample[] }) {
  const [asTable, setAsTable] = useState(false);
  const zone = useZone();
  const rates = ratesOf(samples);
  const [first, latest] = [rates[0], rates.at(-1)];
  if (!first || !latest || rates.length < 2) return null;
  const top = roundUp(Math.max(1, ...rates.map(({ perSecond }) => perSecond)));
  const words = (rate: number) => formatCount(Math.round(rate));
  const label = t.restore.writesLabel(words(latest.perSecond), words(Math.max(...rates.map((rate) => rate.perSecond))));
  return (
    <Panel title={t.restore.writes} aside={t.restore.perSecond(words(latest.perSecond))}>
      {asTable ? (
        <section tabIndex={0} aria-label={label} className="max-h-32 overflow-auto">
          <table className="w-full text-meta">
            <thead>
              <tr className="text-left text-ink2">
                <th scope="col" className="font-normal">
                  {t.restore.writesColumns.at}
                </th>
                <th scope="col" className="text-right font-normal">
                  {t.restore.writesColumns.rate}
                </th>
              </tr>
            </thead>
            <tbody>
              {rates.toReversed().map(({ atMs, perSecond }) => (
                <tr key={atMs}>
                  <th scope="row" className="text-left font-normal text-ink2">
                    {formatClock(atMs, zone)}
                  </th>
                  <td className="text-right">{words(perSecond)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ) : (
        <Drawing rates={rates} top={top} label={label} />
      )}
      <div className="mt-1 flex justify-between gap-3 text-meta text-ink3">
        {!asTable && <span>{formatClock(first.atMs, zone)}</span>}
        <TableToggle asTable={asTable} onChange={setAsTable} of={t.restore.writes} />
        {!asTable && <span>{t.common.now}</span>}
      </div>
    </Panel>
  );
}

function Drawing({ rates, top, label }: { rates: readonly Rate[]; top: number; label: string }) {
  const x = (index: number) => (index / (rates.length - 1)) * width;
  const y = (value: number) => height - (value / top) * (height - 8);
  const line = rates
    .map(({ perSecond }, index) => `${index === 0 ? 'M' : 'L'}${x(index).toFixed(1)} ${y(perSecond).toFixed(1)}`)
    .join('');
  return (
    <div className="flex gap-2">
      <svg
        role="img"
        aria-label={label}
        viewBox={`0 0 ${width} ${height}`}
        className="h-24 min-w-0 flex-1"
        preserveAspectRatio="none"
      >
        <path d={`M0 ${y(top)}H${width}M0 ${y(top / 2)}H${width}M0 ${height - 0.5}H${width}`} className="stroke-line" />
        <path d={`${line}L${width} ${height}L0 ${height}Z`} className="fill-move-weak" />
        <path d={line} fill="none" className="stroke-move" strokeWidth="2" vectorEffect="non-scaling-stroke" />
      </svg>
      <Scale top={top} format={(value) => `${formatCount(value)}/s`} />
    </div>
  );
}

function ratesOf(samples: readonly Sample[]): Rate[] {
  return samples.slice(1).flatMap((sample, index) => {
    const before = samples[index];
    if (!before || sample.atMs - before.atMs < 50) return [];
    const perSecond = Math.max(0, ((sample.documents - before.documents) / (sample.atMs - before.atMs)) * 1000);
    return [{ atMs: sample.atMs, perSecond }];
  });
}
