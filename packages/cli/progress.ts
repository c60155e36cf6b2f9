import { formatBytes, formatCount } from './output.ts';

const redrawMs = 100;
const barWidth = 24;

export interface ProgressState {
  readonly documents?: number;
  readonly bytes?: number;
  /** Between 0 and 1; absent when the end is not known. */
  readonly share?: number;
}

/** A bar that redraws itself in place; silent when nobody watches. */
export class ProgressBar {
  readonly #label: string;
  readonly #isVisible: boolean;
  readonly #startedAtMs = performance.now();
  #drawnAtMs = 0;

  constructor(label: string, options: { readonly json?: boolean }) {
    this.#label = label;
    this.#isVisible = process.stderr.isTTY === true && options.json !== true;
  }

  update(state: ProgressState): void {
    const now = performance.now();
    if (!this.#isVisible || now - this.#drawnAtMs < redrawMs) return;
    this.#drawnAtMs = now;
    process.stderr.write(`\r\u001b[2K${this.#line(state)}`);
  }

  finish(): void {
    if (this.#isVisible) process.stderr.write('\r\u001b[2K');
  }

  #line({ documents, bytes, share }: ProgressState): string {
    const seconds = Math.max((performance.now() - this.#startedAtMs) / 1000, 0.001);
    const parts = [this.#label];
    if (share !== undefined) parts.push(bar(share));
    if (documents !== undefined)
      parts.push(`${formatCount(documents)} documents`, `${formatCount(Math.round(documents / seconds))}/s`);
    if (bytes !== undefined) parts.push(formatBytes(bytes));
    return parts.join('  ');
  }
}

export function bar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * barWidth);
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${String(Math.round(share * 100)).padStart(3)} %`;
}
