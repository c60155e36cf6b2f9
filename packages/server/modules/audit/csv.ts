/** A spreadsheet takes a cell for a formula because of its first visible character, or a leading tab or line end. */
const runnable = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/;
const wantsQuotes = /[",;\t\r\n]/;

/** One line of RFC 4180. An apostrophe turns a cell that a spreadsheet would run into text. */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: string | null): string {
  if (value === null) return '';
  const safe = runnable.test(value) ? `'${value}` : value;
  return safe !== value || wantsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
