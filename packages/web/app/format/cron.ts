/** The rhythms the sentence can express; others stay cron expressions. */
export type Rhythm =
  | { readonly kind: 'day'; readonly time: string }
  | { readonly kind: 'weekdays'; readonly time: string }
  | { readonly kind: 'week'; readonly time: string; readonly weekday: number }
  | { readonly kind: 'hours'; readonly every: number; readonly minute: number }
  | { readonly kind: 'cron' };

const two = (number: number) => String(number).padStart(2, '0');

export function cronOf(rhythm: Exclude<Rhythm, { kind: 'cron' }>): string {
  if (rhythm.kind === 'hours') return `${rhythm.minute} ${rhythm.every === 1 ? '*' : `*/${rhythm.every}`} * * *`;
  const [hour = 0, minute = 0] = rhythm.time.split(':').map(Number);
  const days = rhythm.kind === 'day' ? '*' : rhythm.kind === 'weekdays' ? '1-5' : String(rhythm.weekday);
  return `${minute} ${hour} * * ${days}`;
}

export function rhythmOf(cron: string): Rhythm {
  const match = /^(\d{1,2}) (\S+) \* \* (\S+)$/.exec(cron.trim().replace(/\s+/g, ' '));
  if (!match) return { kind: 'cron' };
  const [, minute = '', hours = '', days = ''] = match;
  const steps = /^\*(?:\/(\d{1,2}))?$/.exec(hours);
  if (steps) {
    const every = Number(steps[1] ?? 1);
    // Steps restart at midnight, so a step that does not divide 24 is not "every n hours".
    const isSteady = days === '*' && 24 % every === 0;
    return isSteady ? { kind: 'hours', every, minute: Number(minute) } : { kind: 'cron' };
  }
  if (!/^\d{1,2}$/.test(hours) || Number(hours) > 23 || Number(minute) > 59) return { kind: 'cron' };
  const time = `${two(Number(hours))}:${two(Number(minute))}`;
  if (days === '*') return { kind: 'day', time };
  if (days === '1-5') return { kind: 'weekdays', time };
  return /^[0-7]$/.test(days) ? { kind: 'week', time, weekday: Number(days) % 7 } : { kind: 'cron' };
}
