/** The steps of progress after the last one that was sent, up to the one that was reached. */
export function tenthsBetween(sent: number, reached: number): number[] {
  const tenths: number[] = [];
  for (let tenth = sent + 10; tenth <= reached; tenth += 10) tenths.push(tenth);
  return tenths;
}
