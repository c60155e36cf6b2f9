import { Panel } from '../../components/panel.tsx';
import { formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import type { Sample } from './use-restore-progress.ts';

const [width, height] = [320, 90];

/** Is it moving? Documents per second, as this page has seen them. */
export function WritesChart({ samples }: { samples: readonly Sample[] }) {
  const rates = ratesOf(samples);
  const peak = Math.max(1, ...rates.map(({ perSecond }) => perSecond));
  const latest = rates.at(-1)?.perSecond ?? 0;
  if (rates.length < 2) return null;
  const x = (index: number) => (index / (rates.length - 1)) * width;
  const y = (value: number) => height - (value / peak) * (height - 8);
  const line = rates
    .map(({ perSecond }, index) => `${index === 0 ? 'M' : 'L'}${x(index).toFixed(1)} ${y(perSecond).toFixed(1)}`)
    .join('');
  const label = t.restore.writesLabel(formatCount(Math.round(latest)), formatCount(Math.round(peak)));
  return (
    <Panel title={t.restore.writes} aside={t.restore.perSecond(formatCount(Math.round(latest)))}>
      <svg
        role="img"
        aria-label={label}
        viewBox={`0 0 ${width} ${height}`}
        className="h-24 w-full"
        preserveAspectRatio="none"
      >
        <path d={`${line}L${width} ${height}L0 ${height}Z`} className="fill-move-weak" />
        <path d={line} fill="none" className="stroke-move" strokeWidth="2" vectorEffect="non-scaling-stroke" />
      </svg>
    </Panel>
  );
}

function ratesOf(samples: readonly Sample[]): { perSecond: number }[] {
  return samples.slice(1).flatMap((sample, index) => {
    const before = samples[index];
    if (!before || sample.atMs - before.atMs < 50) return [];
    return [{ perSecond: Math.max(0, ((sample.documents - before.documents) / (sample.atMs - before.atMs)) * 1000) }];
  });
}
