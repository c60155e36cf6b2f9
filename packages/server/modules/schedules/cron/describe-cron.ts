import cronstrue from 'cronstrue';
import { parseCron } from './cron-expression.ts';

/** The expression in English, on a 24-hour clock: `At 02:00, only on Monday`. */
export function describeCron(expression: string): string {
  const text = cronstrue.toString(expression, { use24HourTimeFormat: true, verbose: false });
  // A day that fits either of the two is enough; in English an "and" would ask for both.
  return parseCron(expression).eitherDay ? text.replace(/,? and (?=(?:only )?on )/, ', or ') : text;
}
