import { rhythmOf } from '../../format/cron.ts';
import { t } from '../../texts/index.ts';

/** A cron expression in words; one that the sentence cannot express stays as it is. */
export function rhythmWords(cron: string): string {
  const rhythm = rhythmOf(cron);
  const { rhythm: words, sentence } = t.schedules;
  if (rhythm.kind === 'cron') return cron;
  if (rhythm.kind === 'hours') return words.hours(rhythm.every);
  const days =
    rhythm.kind === 'day'
      ? words.day
      : rhythm.kind === 'weekdays'
        ? words.weekdays
        : words.week(t.schedules.weekdayNames[rhythm.weekday] ?? '');
  return `${days} ${sentence.at} ${rhythm.time}`;
}
