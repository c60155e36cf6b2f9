import cronstrue from 'cronstrue';
import { parseCron } from './cron-expression.ts';

/** The expression in English, on a 24-hour clock: `At 02:00, only on Monday`. */
export function describeCron(expression: string): string {
  const text = cronstrue
    .toString(withTrueSteps(expression), { use24HourTimeFormat: true, verbose: false })
    .replace(/every (\d+) days in a month/, 'every $1 days from the first of each month');
  // A day that matches either field is enough; the English "and" would mean both.
  return parseCron(expression).eitherDay ? text.replace(/,? and (?=(?:only )?on )/, ', or ') : text;
}

const fieldSizes = [60, 24];

/** A step that does not divide its hour or day starts again with it: `0,5,10,15,20` is not every five hours. */
function withTrueSteps(expression: string): string {
  const fields = expression.trim().split(/\s+/);
  const listed = fields.map((field, place) => {
    const step = Number(/^\*\/(\d+)$/.exec(field)?.[1]);
    const size = fieldSizes[place];
    if (!size || !step || size % step === 0) return field;
    return Array.from({ length: Math.ceil(size / step) }, (_, n) => n * step).join(',');
  });
  return listed.join(' ');
}
