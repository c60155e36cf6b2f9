import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCron } from './cron-expression.ts';
import { nextRun } from './next-run.ts';

/**
 * Ten simulated years against an oracle written differently: it walks every minute of the decade, reads the offsets from
 * Intl by bisection, and notes a due time when the wall clock passes a slot.
 */
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const startMs = Date.UTC(2011, 0, 1);
const endMs = Date.UTC(2021, 0, 1);
/** Dense expressions are walked until they have run so often. */
const runsMax = 3660;
/** How many due times lie between two that are also asked for from a moment in between. */
const betweenEvery = 5;

/** Half of them changed their rules, their offset or even their day within these years. */
const zones = `UTC Europe/Berlin Europe/London Europe/Lisbon Europe/Dublin Europe/Athens Europe/Moscow Europe/Istanbul
  Europe/Minsk Europe/Samara Europe/Volgograd Europe/Saratov Europe/Kaliningrad Europe/Kiev Asia/Tokyo Asia/Kolkata
  Asia/Kathmandu Asia/Tehran Asia/Dubai Asia/Amman Asia/Damascus Asia/Beirut Asia/Gaza Asia/Jerusalem Asia/Baku
  Asia/Yerevan Asia/Pyongyang Asia/Ulaanbaatar Asia/Novosibirsk Asia/Magadan Asia/Sakhalin Asia/Shanghai Africa/Cairo
  Africa/Casablanca Africa/Windhoek Africa/Tripoli Africa/Juba Africa/Sao_Tome Africa/Lagos America/New_York
  America/Los_Angeles America/Denver America/Phoenix America/Caracas America/Sao_Paulo America/Santiago America/Havana
  America/Asuncion America/Port-au-Prince America/Cancun America/St_Johns America/Argentina/San_Luis America/Metlakatla
  Antarctica/Troll Antarctica/Casey Australia/Sydney Australia/Lord_Howe Pacific/Apia Pacific/Fiji Pacific/Chatham
  Pacific/Tongatapu Pacific/Norfolk`.split(/\s+/);

interface Stretch {
  fromMs: number;
  offsetMs: number;
}

function stretchesOf(zone: string): Stretch[] {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset', year: 'numeric' });
  const offsetAt = (timeMs: number): number => {
    const match = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(format.format(timeMs));
    const minutes = Number(match?.[2] ?? 0) * 60 + Number(match?.[3] ?? 0);
    return (match?.[1] === '-' ? -minutes : minutes) * minuteMs;
  };
  const stretches = [{ fromMs: startMs - 2 * dayMs, offsetMs: offsetAt(startMs - 2 * dayMs) }];
  const step = dayMs / 2;
  for (let timeMs = startMs - 2 * dayMs + step; timeMs <= endMs; timeMs += step) {
    const before = stretches.at(-1)!.offsetMs;
    const after = offsetAt(timeMs);
    if (after === before) continue;
    let [low, high] = [timeMs - step, timeMs];
    while (high - low > minuteMs) {
      const middle = low + Math.floor((high - low) / 2 / minuteMs) * minuteMs;
      if (offsetAt(middle) === before) low = middle;
      else high = middle;
    }
    stretches.push({ fromMs: high, offsetMs: after });
  }
  return stretches;
}

/** The fields as texts that list every value; matching is membership. */
function listed(field: string, first: number, last: number): Set<number> {
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const [range, step] = part.split('/') as [string, string | undefined];
    const [from, to] = range === '*' ? [first, last] : range.split('-').map(Number);
    const end = to ?? (step === undefined ? from! : last);
    for (let value = from!; value <= end; value++) if ((value - from!) % Number(step ?? 1) === 0) values.add(value);
  }
  return values;
}

function oracle(cron: string, stretches: readonly Stretch[]): number[] {
  const [minute, hour, day, month, weekday] = cron.split(' ') as [string, string, string, string, string];
  const minutes = listed(minute, 0, 59);
  const hours = listed(hour, 0, 23);
  const days = listed(day, 1, 31);
  const months = listed(month, 1, 12);
  const weekdays = new Set([...listed(weekday, 0, 6)].map((value) => value % 7));
  /** By minute of the day, and by day since 1970: the walk asks millions of times. */
  const isMinute = Uint8Array.from({ length: 1440 }, (_, of) =>
    Number(minutes.has(of % 60) && hours.has(Math.floor(of / 60))),
  );
  const isDay = Uint8Array.from({ length: endMs / dayMs + 3 }, (_, date) => {
    const wall = new Date(date * dayMs);
    const [byDay, byWeekday] = [days.has(wall.getUTCDate()), weekdays.has(wall.getUTCDay())];
    const isSet = (field: string) => !/^\*(\/1)?$/.test(field);
    const either = isSet(day) && isSet(weekday);
    return Number(months.has(wall.getUTCMonth() + 1) && (either ? byDay || byWeekday : byDay && byWeekday));
  });
  const matches = (wall: number) => isMinute[wall % 1440] === 1 && isDay[Math.floor(wall / 1440)] === 1;
  const elapsed = hour.includes('*') || hour.includes('/');
  const due: number[] = [];
  const end = endMs / minuteMs;
  const start = startMs / minuteMs;
  let latest = (stretches[0]!.fromMs + stretches[0]!.offsetMs) / minuteMs - 1;
  for (const [index, { fromMs, offsetMs }] of stretches.entries()) {
    const until = Math.min(end, (stretches[index + 1]?.fromMs ?? endMs) / minuteMs);
    const offset = offsetMs / minuteMs;
    for (let time = fromMs / minuteMs; time < until && due.length < runsMax; time++) {
      const wall = time + offset;
      let isDue = elapsed && matches(wall);
      if (!elapsed) for (let slot = latest + 1; slot <= wall; slot++) isDue ||= matches(slot);
      latest = Math.max(latest, wall);
      if (isDue && time > start) due.push(time * minuteMs);
    }
  }
  return due;
}

const numberIn = (first: number, last: number) => fc.integer({ min: first, max: last });
function item(first: number, last: number): fc.Arbitrary<string> {
  const range = fc
    .tuple(numberIn(first, last), numberIn(first, last))
    .map(([left, right]) => `${Math.min(left, right)}-${Math.max(left, right)}`);
  const step = numberIn(1, Math.min(last, 30));
  return fc.oneof(
    { weight: 5, arbitrary: numberIn(first, last).map(String) },
    { weight: 2, arbitrary: range },
    { weight: 1, arbitrary: fc.tuple(range, step).map(([of, every]) => `${of}/${every}`) },
    { weight: 1, arbitrary: step.map((every) => `*/${every}`) },
  );
}
const field = (first: number, last: number, stars: number) =>
  fc.oneof(
    { weight: stars, arbitrary: fc.constant('*') },
    {
      weight: 4,
      arbitrary: fc.array(item(first, last), { minLength: 1, maxLength: 3 }).map((items) => items.join(',')),
    },
  );
/** Hours near midnight and near the usual changes come often. */
const hours = fc.oneof(field(0, 23, 1), fc.constantFrom('0', '1', '2', '3', '0,2', '1-3', '23', '0-3', '*/2', '1-5/2'));
const expressions = fc
  .tuple(field(0, 59, 1), hours, field(1, 31, 12), field(1, 12, 12), field(0, 6, 12))
  .map((fields) => fields.join(' '))
  .filter((text) => {
    try {
      return Boolean(parseCron(text));
    } catch {
      return false;
    }
  });

test('sixty zones are really sixty', () => {
  expect(new Set(zones).size).toBeGreaterThanOrEqual(60);
});

test('over ten years every due time is met once, and asking between two of them names the next', {
  tags: 'long',
  timeout: 3_600_000,
}, () => {
  const perZone = Number(process.env.CRON_RUNS ?? 1);
  for (const zone of zones) {
    const stretches = stretchesOf(zone);
    fc.assert(
      fc.property(expressions, fc.double({ min: 0, max: 0.999, noNaN: true }), (cron, chance) => {
        const expression = parseCron(cron);
        const due = oracle(cron, stretches);
        let last = startMs;
        for (const [index, expected] of due.entries()) {
          const between = last + Math.floor(chance * (expected - last));
          for (const from of index % betweenEvery === 0 ? [last, between] : [last])
            if (nextRun(expression, zone, new Date(from))?.getTime() !== expected)
              expect(
                `${cron} in ${zone} after ${new Date(from).toISOString()}: ${nextRun(expression, zone, new Date(from))?.toISOString()}`,
              ).toBe(new Date(expected).toISOString());
          last = expected;
        }
        if (due.length < runsMax)
          expect(nextRun(expression, zone, new Date(last))?.getTime() ?? endMs).toBeGreaterThanOrEqual(endMs);
      }),
      { numRuns: perZone },
    );
  }
});
