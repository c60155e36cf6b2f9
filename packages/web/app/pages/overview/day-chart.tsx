import { useState } from 'react';
import { Panel } from '../../components/panel.tsx';
import { Scale } from '../../components/scale.tsx';
import { TableToggle } from '../../components/table-toggle.tsx';
import { roundUp } from '../../format/numbers.ts';
import { formatDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import type { Layer } from './days.ts';

const partsShown = 4;

interface DayChartProps {
  title: string;
  label: string;
  days: readonly { day: string; value: number }[];
  headline: string;
  detail: string;
  /** Its parts today, the largest first: id, name and share. */
  parts: readonly (readonly [string, string, string])[];
  /** Stacked areas instead of bars; their sum is the value of the day. */
  layers?: readonly Layer[];
  format: (value: number) => string;
}

const [width, height] = [240, 120];

/** A number over thirty days, as a chart and as a table. */
export function DayChart({ title, label, days, headline, detail, parts, layers, format }: DayChartProps) {
  const [asTable, setAsTable] = useState(false);
  const peak = roundUp(Math.max(0, ...days.map(({ value }) => value)));
  return (
    <Panel
      title={title}
      aside={t.overview.days}
      flush
      className="grid grid-rows-[auto_1fr] max-md:rounded-none max-md:border-x-0"
    >
      <div className="flex h-full flex-wrap gap-x-5 gap-y-2 px-4 py-3">
        <div className="min-w-28">
          <p className="text-page font-semibold">{headline}</p>
          <p className="text-meta text-ink2">{detail}</p>
          <ul className="mt-1.5 max-w-44 text-meta">
            {parts.slice(0, partsShown).map(([id, name, share]) => (
              <li key={id} className="flex items-center gap-2">
                {layers && layers.length > 1 && <Swatch at={layers.findIndex((layer) => layer.id === id)} />}
                <span className="flex-1 truncate" title={name} dir="auto">
                  {name}
                </span>
                <span className="shrink-0 text-ink2">{share}</span>
              </li>
            ))}
          </ul>
          <div className="mt-2">
            <TableToggle asTable={asTable} onChange={setAsTable} of={title} />
          </div>
        </div>
        {asTable ? (
          <section tabIndex={0} className="max-h-36 min-w-40 flex-1 overflow-auto" aria-label={label}>
            <table className="w-full text-meta">
              {layers && layers.length > 1 && (
                <thead>
                  <tr className="text-ink2">
                    <td />
                    {[...layers.map(({ name }) => name), t.overview.total].map((name, at) => (
                      <th
                        key={layers[at]?.id ?? 'total'}
                        scope="col"
                        className="max-w-20 truncate pl-2 text-right font-normal"
                        dir="auto"
                      >
                        {name}
                      </th>
                    ))}
                  </tr>
                </thead>
              )}
              <tbody>
                {days
                  .map(({ day, value }, at) => (
                    <tr key={day}>
                      <th scope="row" className="text-left font-normal whitespace-nowrap text-ink2">
                        {formatDay(Date.parse(day), 'UTC')}
                      </th>
                      {layers &&
                        layers.length > 1 &&
                        layers.map(({ id, values }) => (
                          <td key={id} className="pl-2 text-right whitespace-nowrap text-ink2">
                            {format(values[at] ?? 0)}
                          </td>
                        ))}
                      <td className="pl-2 text-right whitespace-nowrap">{format(value)}</td>
                    </tr>
                  ))
                  .reverse()}
              </tbody>
            </table>
          </section>
        ) : (
          <div className="grid min-w-40 flex-1 grid-cols-[minmax(0,1fr)_auto] grid-rows-[1fr_auto] gap-x-2">
            <div className="relative min-h-32">
              <svg
                role="img"
                aria-label={`${label}: ${headline}`}
                viewBox={`0 0 ${width} ${height}`}
                preserveAspectRatio="none"
                className="absolute inset-0 size-full"
              >
                <path
                  d={`M0 ${yOf(peak, peak)}H${width}M0 ${yOf(peak / 2, peak)}H${width}M0 ${height - 0.5}H${width}`}
                  className="stroke-line"
                  strokeWidth="1"
                />
                {layers ? <Areas layers={layers} peak={peak} /> : <Bars days={days} peak={peak} />}
              </svg>
            </div>
            <Scale top={peak} format={format} />
            <p className="flex justify-between text-meta text-ink3">
              <span>{days[0] && formatDay(Date.parse(days[0].day), 'UTC')}</span>
              <span>{t.overview.today}</span>
            </p>
          </div>
        )}
      </div>
    </Panel>
  );
}

const yOf = (value: number, peak: number) => height - (value / Math.max(1, peak)) * (height - 6);

function Bars({ days, peak }: { days: DayChartProps['days']; peak: number }) {
  const step = width / Math.max(1, days.length);
  return days.map(({ day, value }, index) => (
    <rect
      key={day}
      x={index * step + step * 0.15}
      width={step * 0.7}
      y={yOf(value, peak)}
      height={height - yOf(value, peak)}
      className="fill-control"
    />
  ));
}

const fills = ['fill-held-mark/45', 'fill-band', 'fill-held-weak', 'fill-sunken'];
const dashes = ['none', '4 3', '1.5 2.5', '8 3'];

/** Stacked areas, the largest at the bottom. They differ in fill and in their upper edge, not in colour alone. */
function Areas({ layers, peak }: { layers: readonly Layer[]; peak: number }) {
  const count = layers[0]?.values.length ?? 0;
  const step = width / Math.max(1, count);
  const edges = layers.map((_, upTo) =>
    Array.from({ length: count }, (__, day) =>
      layers.slice(0, upTo + 1).reduce((sum, { values }) => sum + (values[day] ?? 0), 0),
    ),
  );
  const points = (edge: readonly number[]) => edge.map((value, day) => `${(day + 0.5) * step} ${yOf(value, peak)}`);
  return layers.map(({ id }, at) => {
    const top = points(edges[at] ?? []);
    const bottom = points(edges[at - 1] ?? Array.from({ length: count }, () => 0));
    return (
      <g key={id}>
        <path d={`M${[...top, ...bottom.toReversed()].join('L')}Z`} className={fills[at]} />
        <path
          d={`M${top.join('L')}`}
          fill="none"
          className="stroke-held"
          strokeWidth="1.6"
          strokeDasharray={dashes[at]}
          vectorEffect="non-scaling-stroke"
        />
      </g>
    );
  });
}

function Swatch({ at }: { at: number }) {
  return (
    <svg width="16" height="10" aria-hidden="true" className="shrink-0">
      <rect y="1" width="16" height="9" className={fills[at]} />
      <path d="M0 1H16" className="stroke-held" strokeWidth="1.6" strokeDasharray={dashes[at]} />
    </svg>
  );
}
