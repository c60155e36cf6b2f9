const detailsBytesMax = 16 * 1024;

/** Details as the database will return them: plain JSON, bounded, without the characters that it cannot store. */
export function storableDetails(details: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(details, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  const bytes = Buffer.byteLength(text);
  if (bytes > detailsBytesMax) return { truncated: true, bytes };
  return storable(JSON.parse(text)) as Record<string, unknown>;
}

function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), storable(item)]));
}

function storableText(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed();
}
