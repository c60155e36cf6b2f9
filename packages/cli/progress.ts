import { formatBytes, formatCount } from './output.ts';

const redrawMs = 100;
/** Lines stay where they are printed, such as in a job's log, so few are enough. */
const lineMs = 30_000;
const barWidths = { least: 8, most: 24 };

export interface ProgressState {
  readonly documents?: number;
  readonly bytes?: number;
  /** Between 0 and 1; absent when the total is unknown. */
  readonly share?: number;
}

/**
 * A bar that redraws itself in place. Without a terminal it is a line now and then, so that a long job does not look
 * dead.
 */
export class ProgressBar {
  readonly #label: string;
  readonly #isVisible: boolean;
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #startedAtMs = performance.now();
  #drawnAtMs = this.#startedAtMs;

  constructor(label: string, options: { readonly json?: boolean }) {
    this.#label = label;
    this.#isVisible = !this.#isTerminal || options.json !== true;
  }

  update(state: ProgressState): void {
    const now = performance.now();
    if (!this.#isVisible || now - this.#drawnAtMs < (this.#isTerminal ? redrawMs : lineMs)) return;
    this.#drawnAtMs = now;
    process.stderr.write(this.#isTerminal ? `\r\u001b[2K${this.#line(state)}` : `${this.#line(state)}\n`);
  }

  finish(): void {
    if (this.#isVisible && this.#isTerminal) process.stderr.write('\r\u001b[2K');
  }

  #line({ documents, bytes, share }: ProgressState): string {
    const seconds = Math.max((performance.now() - this.#startedAtMs) / 1000, 0.001);
    const parts: string[] = [];
    if (documents !== undefined)
      parts.push(`${formatCount(documents)} documents`, `${formatCount(Math.round(documents / seconds))}/s`);
    if (bytes !== undefined) parts.push(formatBytes(bytes));
    return fitLine((process.stderr.columns ?? 80) - 1, this.#label, share, parts);
  }
}

/**
 * A label, a bar and further parts on one line that never wraps: first the bar shrinks, then the last parts are
 * dropped, then the label is cut.
 */
export function fitLine(width: number, label: string, share: number | undefined, parts: readonly string[]): string {
  const kept = [...parts];
  const room = () => width - label.length - kept.reduce((sum, part) => sum + part.length + 2, 0) - percentWidth - 2;
  if (share === undefined) return [label, ...kept].join('  ').slice(0, width);
  while (kept.length > 0 && room() < barWidths.least) kept.pop();
  const barWidth = Math.min(barWidths.most, room());
  if (barWidth < barWidths.least)
    return `${label.slice(0, Math.max(0, width - percentWidth - 1))} ${percent(share)}`.slice(0, width);
  return [label, `${bar(share, barWidth)} ${percent(share)}`, ...kept].join('  ');
}

const percentWidth = ' 100 %'.length;

function percent(share: number): string {
  return `${String(Math.round(clamp(share) * 100)).padStart(3)} %`;
}

function bar(share: number, width: number): string {
  const filled = Math.round(clamp(share) * width);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}
