/**
 * One line of text of at most `lengthMax` characters, as in the contract; control characters, which names may contain,
 * become spaces.
 */
export function oneLine(text: string, lengthMax: number): string {
  return text
    .slice(0, lengthMax)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed();
}
