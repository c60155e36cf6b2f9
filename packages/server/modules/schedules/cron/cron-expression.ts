/** A five-field cron expression, each field as the ascending values it names. */
export interface CronExpression {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: ReadonlySet<number>;
  readonly monthDays: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Both day fields are set: a day that matches either of them counts. */
  readonly eitherDay: boolean;
  /** A star or a step in the hour field: runs follow elapsed time instead of the slots of a day. */
  readonly followsElapsedTime: boolean;
}

/** What is wrong with an expression, for the person who wrote it. */
export class CronError extends Error {
  override name = 'CronError';
}

interface Field {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly names?: readonly string[];
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const minute: Field = { name: 'minute', first: 0, last: 59 };
const hour: Field = { name: 'hour', first: 0, last: 23 };
const monthDay: Field = { name: 'day of the month', first: 1, last: 31 };
const month: Field = { name: 'month', first: 1, last: 12, names: monthNames };
const weekday: Field = { name: 'day of the week', first: 0, last: 7, names: weekdayNames };
/** The longest each month can be. */
const monthLengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function parseCron(text: string): CronExpression {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5) throw new CronError('must have five fields: minute, hour, day, month, weekday');
  const [minutes, hours, monthDays, months, weekdays] = fields as [string, string, string, string, string];
  const expression: CronExpression = {
    minutes: valuesOf(minutes, minute),
    hours: valuesOf(hours, hour),
    monthDays: new Set(valuesOf(monthDays, monthDay)),
    months: new Set(valuesOf(months, month)),
    weekdays: new Set(valuesOf(weekdays, weekday).map((value) => value % 7)),
    eitherDay: isSet(monthDays) && isSet(weekdays),
    followsElapsedTime: /[*/]/.test(hours),
  };
  requireSomeDay(expression);
  return expression;
}

/** A star, also with steps of one, leaves the choice to the other day field. */
function isSet(field: string): boolean {
  return field !== '*' && field !== '*/1';
}

function valuesOf(text: string, field: Field): number[] {
  const values = new Set<number>();
  for (const item of text.split(',')) for (const value of itemValues(item, field)) values.add(value);
  return [...values].sort((left, right) => left - right);
}

/** `*`, `5`, `1-5`, each also with `/2`; a single value with a step goes on to the end of the field. */
function itemValues(item: string, field: Field): number[] {
  const match = /^(?:(\*)|([0-9]+|[A-Za-z]{3})(?:-([0-9]+|[A-Za-z]{3}))?)(?:\/([0-9]+))?$/.exec(item);
  if (!match) throw new CronError(`${field.name} cannot be "${item}"`);
  const [, star, from, to, every] = match;
  const step = every === undefined ? 1 : Number(every);
  if (step < 1 || step > field.last) throw new CronError(`${field.name} cannot go in steps of ${every}`);
  // 7 is a second name of Sunday, so an open range of weekdays ends at 6.
  const lastDefault = field === weekday ? 6 : field.last;
  const first = star ? field.first : toNumber(from as string, field);
  const open = star !== undefined || (to === undefined && every !== undefined);
  const last = open ? lastDefault : to === undefined ? first : rangeEnd(to, field);
  if (first > last) throw new CronError(`${field.name} cannot go from ${from} back to ${to ?? last}`);
  const values: number[] = [];
  for (let value = first; value <= last; value += step) values.push(value);
  return values;
}

function rangeEnd(text: string, field: Field): number {
  const value = toNumber(text, field);
  return field === weekday && value === 0 && /[a-z]/i.test(text) ? 7 : value;
}

function toNumber(text: string, field: Field): number {
  const named = field.names?.indexOf(text.toLowerCase()) ?? -1;
  const value = named >= 0 ? named + field.first : /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= field.first && value <= field.last))
    throw new CronError(`${field.name} must lie between ${field.first} and ${field.last}; "${text}" does not`);
  return value;
}

/** The 30th of February never comes. */
function requireSomeDay(expression: CronExpression): void {
  if (expression.eitherDay) return;
  for (const which of expression.months)
    for (const day of expression.monthDays) if (day <= (monthLengths[which - 1] as number)) return;
  throw new CronError('names a day that never comes');
}

export interface CalendarDay {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

export function matchesDay(expression: CronExpression, { year, month: which, day }: CalendarDay): boolean {
  if (!expression.months.has(which)) return false;
  const byDate = expression.monthDays.has(day);
  const byWeekday = expression.weekdays.has(new Date(Date.UTC(year, which - 1, day)).getUTCDay());
  return expression.eitherDay ? byDate || byWeekday : byDate && byWeekday;
}
