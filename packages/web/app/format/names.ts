/** Joins names by commas; one with a comma, a quote or an outer space is quoted. */
export function lineOfNames(names: readonly string[]): string {
  return names.map((name) => (/[,"]|^\s|\s$/.test(name) ? JSON.stringify(name) : name)).join(', ');
}

export function namesOfLine(line: string): string[] {
  const parts = line.match(/\s*"(?:[^"\\]|\\.)*"\s*(?=,|$)|[^,]+/g) ?? [];
  return parts.map(nameOf).filter((name) => name !== '');
}

function nameOf(part: string): string {
  const text = part.trim();
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
