/** The steps of progress after the last one that was sent, up to the one that was reached. */
export function tenthsBetween(told: number, reached: number): number[] {
  const tenths: number[] = [];
  for (let tenth = told + 10; tenth <= reached; tenth += 10) tenths.push(tenth);
  return tenths;
}
