import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { printJson } from '../../output.ts';
import { printRecord } from '../lists.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { scheduleIdOf } from '../references.ts';
import { withService } from '../session.ts';

export type Schedule = Awaited<ReturnType<Client['getSchedule']>>;

export const scheduleArgument = ['<schedule>', 'id or name'] as const;

export function showCommand(): Command {
  return serviceCommand('show', 'everything known about a schedule')
    .argument(...scheduleArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const scheduleId = await scheduleIdOf(client, reference);
          showSchedule(await client.getSchedule({ params: { scheduleId } }), options);
        }),
    );
}

export function showSchedule(schedule: Schedule, { json }: ServiceOptions): void {
  if (json) {
    printJson(schedule);
    return;
  }
  const { lastRun, storageDestinationIds } = schedule;
  printRecord({
    Id: schedule.id,
    Name: schedule.name,
    Project: schedule.projectId,
    Cron: schedule.cron,
    'Time zone': schedule.timezone,
    Enabled: schedule.enabled ? 'yes' : 'no',
    'Next run': schedule.nextRunAt,
    'Last run': lastRun && `${lastRun.dueAt} ${lastRun.status}`,
    Type: schedule.fullEvery === null ? schedule.type : `${schedule.type}, full every ${schedule.fullEvery}`,
    Collections: schedule.collections.join(', '),
    Without: schedule.excludeCollections.join(', '),
    Storage: storageDestinationIds.length > 0 ? storageDestinationIds.join(', ') : 'the default',
    Kept: keptSentence(schedule),
    'Missed after': `${schedule.missedAfterMinutes} minutes, catch up: ${schedule.catchUp}`,
    'Verify every': schedule.verifyEvery,
    'Drill every': schedule.drillEvery,
  });
}

export function keptSentence({ retention, retentionPolicy }: Schedule): string {
  if (retention !== null) return `${retention} days`;
  if (retentionPolicy === null) return 'until deleted';
  return Object.entries(retentionPolicy)
    .filter(([, count]) => count)
    .map(([rule, count]) => `${rule} ${count}`)
    .join(', ');
}
