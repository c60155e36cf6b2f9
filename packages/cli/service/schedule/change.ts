import { minuteMs } from '@holdfast/contract';
import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { countOf, printJson, printLine } from '../../output.ts';
import { reportEnd, waitForJob } from '../jobs.ts';
import { type ServiceOptions, serviceCommand, type WaitOptions, withWait } from '../options.ts';
import { projectIdOf, scheduleIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { type SettingOptions, settingsOf, withSettings } from './settings.ts';
import { scheduleArgument, showSchedule } from './show.ts';

export function addCommand(): Command {
  return withSettings(serviceCommand('add', 'back a project up again and again'))
    .argument('<project>', 'id or name')
    .argument('<name>', 'what to call the schedule')
    .argument('<cron>', 'minute hour day month weekday, such as "0 2 * * *"')
    .option('--paused', 'it does nothing until `resume`')
    .action(
      async (project: string, name: string, cron: string, options: SettingOptions & { paused?: boolean }) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, project);
          const settings = await settingsOf(client, options);
          const enabled = options.paused !== true;
          const schedule = await client.createSchedule({ body: { projectId, name, cron, enabled, ...settings } });
          showSchedule(schedule, options);
        }),
    );
}

export function editCommand(): Command {
  return withSettings(serviceCommand('edit', 'change a schedule; what is not given stays'))
    .argument(...scheduleArgument)
    .option('--name <name>', 'another name')
    .option('--cron <expression>', 'another time')
    .action(
      async (reference: string, options: SettingOptions & { name?: string; cron?: string }) =>
        await withService(options, async ({ client }) => {
          const scheduleId = await scheduleIdOf(client, reference);
          const { name, cron } = options;
          const body = { ...(await settingsOf(client, options)), ...(name && { name }), ...(cron && { cron }) };
          const before = options.keep || options.retention ? await heldOf(client, scheduleId) : [];
          const schedule = await client.updateSchedule({ params: { scheduleId }, body });
          showSchedule(schedule, options);
          if (before.length > 0) await warnAboutRemovals(client, schedule, before);
        }),
    );
}

/** The backups of a schedule that are kept for now. */
async function heldOf(client: Client, scheduleId: string): Promise<string[]> {
  const soon = Date.now() + removalTakesMs;
  const held: string[] = [];
  for await (const { backupId, removedAt } of client.paginate('previewRetention', {
    params: { scheduleId },
    query: {},
  }))
    if (removedAt === null || Date.parse(removedAt) > soon) held.push(backupId);
  return held;
}

/** A rule that keeps less takes effect within minutes, so this warns in time to put the former one back. */
async function warnAboutRemovals(
  client: Client,
  schedule: { id: string; name: string },
  before: string[],
): Promise<void> {
  const held = new Set(await heldOf(client, schedule.id));
  const leaving = before.filter((id) => !held.has(id)).length;
  if (leaving > 0)
    process.stderr.write(
      `${countOf(leaving, 'backup')} kept until now will be removed within minutes: \`holdfast retention preview '${schedule.name}'\` says what stays.\n`,
    );
}

const removalTakesMs = 3 * minuteMs;

const pauseOrResume = (verb: string, description: string, enabled: boolean) => (): Command =>
  serviceCommand(verb, description)
    .argument(...scheduleArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const scheduleId = await scheduleIdOf(client, reference);
          showSchedule(await client.updateSchedule({ params: { scheduleId }, body: { enabled } }), options);
        }),
    );

export const pauseCommand = pauseOrResume('pause', 'let a schedule do nothing until `resume`', false);
export const resumeCommand = pauseOrResume('resume', 'let a paused schedule go on from now', true);

export function runCommand(): Command {
  return withWait(serviceCommand('run', 'run a schedule now, in addition to its due times'))
    .argument(...scheduleArgument)
    .action(
      async (reference: string, options: WaitOptions) =>
        await withService(options, async (service) => {
          const scheduleId = await scheduleIdOf(service.client, reference);
          const started = await service.client.runSchedule({ params: { scheduleId } });
          if (!options.wait) return options.json ? printJson(started) : printLine(`${started.id} ${started.status}`);
          const backup = await waitForJob(service, started.id, options);
          if (options.json) printJson(backup);
          else printLine(`${backup.id} ${backup.status}`);
          reportEnd(backup);
        }),
    );
}

export function deleteCommand(): Command {
  return withYes(serviceCommand('delete', 'delete a schedule; its backups stay'))
    .argument(...scheduleArgument)
    .option('--delete-backups', 'its backups too, all or none; needs the right to delete backups')
    .action(
      async (reference: string, options: ServiceOptions & ConfirmOptions & { deleteBackups?: boolean }) =>
        await withService(options, async ({ client }) => {
          const scheduleId = await scheduleIdOf(client, reference);
          const query = options.deleteBackups ? { deleteBackups: true } : {};
          const backups = options.deleteBackups ? 'with all its backups' : 'and keep its backups';
          await confirm(`Delete the schedule ${reference} ${backups}?`, options);
          const message = await client.deleteSchedule({ params: { scheduleId }, query });
          if (options.json) printJson({ id: scheduleId, deleted: true, message });
          else printLine(message);
        }),
    );
}
