const detailsBytesMax = 16 * 1024;

/** Details as the database will give them back: plain JSON, without the characters it cannot hold, and bounded. */
export function storableDetails(details: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(details, (_key, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    return typeof value === 'string' ? value.replaceAll('\u0000', '').toWellFormed() : value;
  });
  const bytes = Buffer.byteLength(text);
  return bytes > detailsBytesMax ? { truncated: true, bytes } : (JSON.parse(text) as Record<string, unknown>);
}

/** One line of text of at most `lengthMax` characters; control characters become spaces. */
export function storableLine(text: string, lengthMax: number): string {
  return text
    .slice(0, lengthMax)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed();
}
