import type { Figure } from './figure.ts';

const rowHeight = 34;
const labelWidth = 390;
const barWidthMax = 420;

/**
 * One bar per figure: how far the target was reached or undercut, on a logarithmic scale, so that 1 is the promise and
 * longer is better for all of them.
 */
export function chart(figures: readonly Figure[]): string {
  const scores = figures.map(({ ratio, target, better }) =>
    better === 'higher' ? ratio / target : target / Math.max(ratio, 1e-9),
  );
  const top = Math.max(4, ...scores.filter(Number.isFinite));
  const x = (score: number) => (Math.log2(Math.max(score, 0.25) * 4) / Math.log2(top * 4)) * barWidthMax;
  const height = figures.length * rowHeight + 60;
  const rows = figures.map((one, index) => row(one, x(scores[index]!), index * rowHeight + 44));
  const promise = (labelWidth + x(1)).toFixed(1);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${labelWidth + barWidthMax + 130}" height="${height}" font-family="system-ui, sans-serif" font-size="13">
<title>What was reached, against what was promised: one bar per figure, longer is better</title>
<rect width="100%" height="100%" fill="#fff"/>
<line x1="${promise}" y1="30" x2="${promise}" y2="${height - 16}" stroke="#444" stroke-dasharray="4 3"/>
<text x="${promise}" y="22" text-anchor="middle" fill="#444">promised</text>
${rows.join('\n')}
</svg>
`;
}

function row({ name, against, ratio, better, target, pass }: Figure, width: number, y: number): string {
  const fill = pass ? '#2f855a' : '#c53030';
  const label = `${name}: ${against}`.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${labelWidth - 12}" y="${y + 15}" text-anchor="end">${label}</text>
<rect x="${labelWidth}" y="${y}" width="${width.toFixed(1)}" height="22" rx="3" fill="${fill}"/>
<text x="${(labelWidth + width + 8).toFixed(1)}" y="${y + 15}" fill="#222">${ratio} (${better === 'higher' ? '≥' : '≤'} ${target})</text>`;
}
