import type { Schedule } from '@holdfast/contract';
import { CalendarClock, Plus } from 'lucide-react';
import { isUnserved, useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { Box, List } from '../../components/list.tsx';
import { useNameFilter } from '../../components/name-filter.tsx';
import { Empty } from '../../components/states.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { useProjectNames } from '../restores/shared.tsx';
import { rhythmWords } from './rhythm-words.ts';
import { RunState } from './run-state.tsx';
import { ScheduleState } from './schedule-state.tsx';

export function Page() {
  const schedules = useAll('listSchedules', {});
  const nameOf = useProjectNames();
  const filter = useNameFilter(schedules.rows, ({ name, projectId }) => `${name} ${nameOf(projectId)}`);
  const canEdit = useCan('member');
  const paths = usePaths();
  const add = canEdit && (
    <LinkButton kind="primary" icon={Plus} to={paths.newSchedule()}>
      {t.schedules.add}
    </LinkButton>
  );
  const crumbs = [{ label: t.schedules.title }];
  if (isUnserved(schedules.error))
    return (
      <PageFrame title={t.schedules.title} crumbs={crumbs}>
        <Box>
          <Empty icon={CalendarClock} title={t.schedules.unserved} />
        </Box>
      </PageFrame>
    );
  return (
    <PageFrame title={t.schedules.title} crumbs={crumbs} subtitle={t.schedules.subtitle} actions={add}>
      {filter.field}
      <List
        list={{ ...schedules, rows: filter.rows }}
        filteredEmpty={filter.empty}
        empty={
          <Empty icon={CalendarClock} title={t.schedules.empty} action={add}>
            {canEdit ? t.schedules.emptyText : t.common.setUpBy.member}
          </Empty>
        }
      >
        {(rows) => (
          <DataTable
            label={t.schedules.title}
            columns={columnsOf(nameOf)}
            rows={rows}
            rowKey={({ id }) => id}
            to={({ id }) => paths.schedule(id)}
            phone={(schedule) => (
              <>
                <span className="flex justify-between gap-2">
                  <span className="min-w-0 truncate font-medium" dir="auto">
                    {schedule.name}
                  </span>
                  <ScheduleState schedule={schedule} />
                </span>
                <span className="flex justify-between gap-2 text-meta text-ink3">
                  <span className="min-w-0 truncate" dir="auto">
                    {nameOf(schedule.projectId)} · {rhythmWords(schedule.cron)}
                  </span>
                  {schedule.nextRunAt && (
                    <span className="shrink-0">
                      <span className="sr-only">{t.schedules.columns.next}</span>{' '}
                      <Time at={schedule.nextRunAt} as="due" />
                    </span>
                  )}
                </span>
              </>
            )}
          />
        )}
      </List>
    </PageFrame>
  );
}

function columnsOf(nameOf: (id: string) => string): Column<Schedule>[] {
  const { columns } = t.schedules;
  return [
    { id: 'name', header: columns.name, isLink: true, cell: ({ name }) => <Cut text={name} className="font-medium" /> },
    { id: 'state', header: columns.state, cell: (schedule) => <ScheduleState schedule={schedule} /> },
    { id: 'project', header: columns.project, cell: ({ projectId }) => <Cut text={nameOf(projectId)} /> },
    {
      id: 'when',
      header: columns.when,
      className: 'whitespace-nowrap',
      cell: ({ cron, timezone }) => (
        <>
          {rhythmWords(cron)} <span className="text-ink3">{timezone}</span>
        </>
      ),
    },
    {
      id: 'next',
      header: columns.next,
      className: 'whitespace-nowrap',
      cell: ({ nextRunAt }) =>
        nextRunAt ? <Time at={nextRunAt} as="due" /> : <span className="text-ink3">{t.common.none}</span>,
    },
    {
      id: 'last',
      header: columns.last,
      from: 'lg',
      cell: ({ lastRun }) =>
        lastRun ? (
          <span className="inline-flex items-center gap-2 align-middle whitespace-nowrap">
            <RunState status={lastRun.status} />
            <span className="text-ink3">
              <Time at={lastRun.dueAt} as="due" />
            </span>
          </span>
        ) : (
          <span className="text-ink3">{t.schedules.notYet}</span>
        ),
    },
  ];
}
