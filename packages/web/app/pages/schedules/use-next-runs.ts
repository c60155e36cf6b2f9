import { useRead } from '../../api/calls.ts';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import type { Draft } from './draft.ts';

const asked = 7;

/** The next runs, as computed by the service. */
export function useNextRuns(draft: Draft) {
  const cron = draft.cron.trim().replace(/\s+/g, ' ');
  const isWhole = cron.split(' ').length === 5;
  const preview = useRead(
    'previewSchedule',
    { body: { cron, timezone: draft.timezone, count: asked } },
    { enabled: isWhole, everyMs: false },
  );
  const fault = isWhole ? fieldErrors(preview.error, ['cron']).cron : t.schedules.badCron;
  return { preview, isWhole, fault };
}
