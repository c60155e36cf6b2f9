import type { Command } from 'commander';
import { wrongUsage } from '../../command-failure.ts';
import { serviceCommand } from '../options.ts';
import { projectIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { type SettingOptions, settingsOf, withSettings } from './settings.ts';
import { projectArgument, showProject } from './show.ts';

interface UpdateOptions extends SettingOptions {
  readonly name?: string;
}

export function updateCommand(): Command {
  return withSettings(
    serviceCommand('update', 'change a project; what is not given stays')
      .argument(...projectArgument)
      .option('--name <name>', 'another name'),
  )
    .option('--no-read-rate-limit', 'as many documents a second as the source gives')
    .option('--no-max-reads', 'backups read as much as they need')
    .option('--no-auth-users', 'backups leave the accounts out')
    .option('--ramp-up', 'restores begin slowly, as Google recommends')
    .action(
      async (reference: string, options: UpdateOptions) =>
        await withService(options, async ({ client }) => {
          const params = { projectId: await projectIdOf(client, reference) };
          const { name } = options;
          const settings = settingsOf(options);
          const hasSettings = Object.keys(settings).length > 0;
          if (!name && !hasSettings) throw wrongUsage('Say what to change.');
          const body = { ...(name && { name }), ...(hasSettings && { settings }) };
          showProject(await client.updateProject({ params, body }), options);
        }),
    );
}
