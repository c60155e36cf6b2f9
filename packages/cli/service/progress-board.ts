import { countOf, formatBytes, formatCount } from '../output.ts';
import { fitLine } from '../progress.ts';
import type { Job } from './job.ts';

const redrawMs = 100;
const linesMax = 20;
/** A log has no width, so its lines are not cut. */
const logWidth = 200;
/** A job that has not begun after this time may be waiting for a missing worker. */
const turnMs = 20_000;

/** Where the board is drawn: a terminal, or a log that takes one line at a time. */
export type BoardStream = Pick<NodeJS.WriteStream, 'write'> & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * A bar for each of several jobs, redrawn in place on a terminal. A log gets a line at each change of state and each
 * tenth. With JSON output nothing is drawn.
 */
export class ProgressBoard {
  readonly #stream: BoardStream;
  readonly #isSilent: boolean;
  readonly #printed = new Map<string, string>();
  readonly #pendingSinceMs = new Map<string, number>();
  #drawnLines = 0;
  #drawnAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: { readonly json?: boolean }, stream: BoardStream = process.stderr) {
    this.#stream = stream;
    this.#isSilent = options.json === true;
  }

  update(jobs: readonly Job[]): void {
    if (this.#isSilent) return;
    if (this.#stream.isTTY) this.#draw(jobs);
    else for (const job of jobs) this.#log(job);
  }

  finish(): void {
    this.#erase();
  }

  #draw(jobs: readonly Job[]): void {
    const now = performance.now();
    if (now - this.#drawnAtMs < redrawMs) return;
    this.#drawnAtMs = now;
    const width = (this.#stream.columns ?? 80) - 1;
    const lines = jobs.slice(0, linesMax).map((job) => this.#lineOf(job, width));
    if (jobs.length > linesMax) lines.push(`… and ${formatCount(jobs.length - linesMax)} more`);
    this.#erase();
    this.#stream.write(lines.map((line) => `${line.slice(0, width)}\n`).join(''));
    this.#drawnLines = lines.length;
  }

  #erase(): void {
    if (this.#drawnLines > 0) this.#stream.write(`\u001b[${this.#drawnLines}A\r\u001b[J`);
    this.#drawnLines = 0;
  }

  #log(job: Job): void {
    const waitsLong = this.#waitsLong(job);
    const state = `${job.status} ${job.progress.phase} ${Math.floor(job.progress.percent / 10)} ${waitsLong}`;
    if (this.#printed.get(job.id) === state) return;
    this.#printed.set(job.id, state);
    this.#stream.write(`${this.#lineOf(job, logWidth)}\n`);
  }

  #lineOf(job: Job, width: number): string {
    const { id, status, progress } = job;
    const { percent, phase, documents, bytes, etaSeconds, waitingFor } = progress;
    const parts = [status === 'running' ? phase : status];
    if (etaSeconds !== null && status === 'running') parts.push(`${formatCount(etaSeconds)} s left`);
    if (waitingFor !== null && status === 'running') parts.push(waitingFor);
    if (this.#waitsLong(job)) parts.push('is a worker running?');
    if (documents > 0) parts.push(countOf(documents, 'document'));
    if (bytes > 0) parts.push(formatBytes(bytes));
    return fitLine(width, id, percent / 100, parts);
  }

  #waitsLong({ id, status }: Job): boolean {
    if (status !== 'pending') return false;
    const now = performance.now();
    const since = this.#pendingSinceMs.get(id) ?? now;
    this.#pendingSinceMs.set(id, since);
    return now - since > turnMs;
  }
}
