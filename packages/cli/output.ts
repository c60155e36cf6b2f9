import { once } from 'node:events';
import { exitCode } from './exit-codes.ts';

/** The exit code when the reader of the output has left before the command's end. */
export const unread: { exit: number } = { exit: exitCode.ok };

/** Output of commands: JSON on one line for programs, sentences for people, progress on the error stream. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

export function printLine(text = ''): void {
  process.stdout.write(`${text}\n`);
}

const byteUnits = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Decimal units with three significant digits, as in the dashboard. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return countOf(bytes, 'byte');
  let [size, unit] = [bytes, 0];
  for (; size >= 999.5 && unit < byteUnits.length - 1; unit++) size /= 1000;
  return `${size >= 100 ? Math.round(size) : size.toFixed(1)} ${byteUnits[unit]}`;
}

export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** A count with its noun, in the singular for one. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Small amounts keep enough digits to differ from zero. */
export function formatMoney(amount: number, currency: string): string {
  return `${amount.toFixed(amount > 0 && amount < 1 ? 4 : 2)} ${currency}`;
}

/** Columns as wide as their widest cell. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows)
    printLine(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}

/** Waits for each line before the next one is made, so that a slow reader slows the work instead of filling memory. */
export async function writeOut(stream: NodeJS.WritableStream, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}
