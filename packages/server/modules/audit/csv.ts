/** What makes a spreadsheet take a cell for a formula: its first visible character, or a leading tab or line end. */
const runnable = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/;
const wantsQuotes = /[",;\t\r\n]/;

/** One line of RFC 4180. A cell that a spreadsheet would run is made text by an apostrophe in front. */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: string | null): string {
  if (value === null) return '';
  const safe = runnable.test(value) ? `'${value}` : value;
  return safe !== value || wantsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
