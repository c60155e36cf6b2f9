import type { Schedule } from '@holdfast/contract';
import type { ReactNode } from 'react';
import { TextLink } from '../../components/button.tsx';
import { Time } from '../../components/time.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { useProjectNames } from '../restores/shared.tsx';
import { rhythmWords } from './rhythm-words.ts';
import { RunState } from './run-state.tsx';

/** The schedule in words, with its next run, its last run and what is kept. */
export function ScheduleHead({ schedule }: { schedule: Schedule }) {
  const paths = usePaths();
  const project = useProjectNames()(schedule.projectId);
  const { columns, head } = t.schedules;
  const { nextRunAt, lastRun } = schedule;
  return (
    <>
      <p>{head.sentence(project, rhythmWords(schedule.cron), schedule.timezone)}</p>
      <dl className="mt-1 flex flex-wrap gap-x-6 gap-y-1">
        <Fact name={columns.next}>{nextRunAt ? <Time at={nextRunAt} as="due" /> : head.noNext}</Fact>
        <Fact name={columns.last}>
          {lastRun ? (
            <>
              <RunState status={lastRun.status} />
              {lastRun.backupId ? (
                <TextLink to={paths.backup(lastRun.backupId)}>
                  <Time at={lastRun.dueAt} as="due" />
                </TextLink>
              ) : (
                <Time at={lastRun.dueAt} as="due" />
              )}
            </>
          ) : (
            t.schedules.notYet
          )}
        </Fact>
        <Fact name={columns.kept}>{keptWords(schedule)}</Fact>
      </dl>
    </>
  );
}

function keptWords({ retention, retentionPolicy }: Schedule): string {
  const { head } = t.schedules;
  if (retention !== null) return head.days(retention);
  return keptCounts(retentionPolicy ?? {}) || head.all;
}

export function keptCounts(policy: NonNullable<Schedule['retentionPolicy']>): string {
  return Object.entries(t.schedules.rules)
    .map(([rule, word]) => ({ word, count: policy[rule as keyof typeof policy] ?? 0 }))
    .filter(({ count }) => count > 0)
    .map(({ word, count }) => `${count} ${word}`)
    .join(', ');
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-2">
      <dt className="text-ink3">{name}</dt>
      <dd className="flex items-center gap-2 text-ink">{children}</dd>
    </div>
  );
}
