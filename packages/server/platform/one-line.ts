/** One line of text of at most `lengthMax` characters, as the contract has it; control characters, as names may hold them, become spaces. */
export function oneLine(text: string, lengthMax: number): string {
  return text
    .slice(0, lengthMax)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed();
}
