import cronstrue from 'cronstrue';

/** The expression in English, on a 24-hour clock: `At 02:00, only on Monday`. */
export function describeCron(expression: string): string {
  return cronstrue.toString(expression, { use24HourTimeFormat: true, verbose: false });
}
