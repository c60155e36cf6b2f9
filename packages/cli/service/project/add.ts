import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { wrongUsage } from '../../command-failure.ts';
import { warnAboutDuplicateName } from '../duplicate-names.ts';
import { readKeyFile } from '../key-file.ts';
import { serviceCommand } from '../options.ts';
import { withService } from '../session.ts';
import { type SettingOptions, settingsOf, withSettings } from './settings.ts';
import { showProject } from './show.ts';

interface AddOptions extends SettingOptions {
  readonly source: string;
  readonly database: string;
  readonly serviceAccountKey?: string;
  readonly emulator?: string;
  readonly oauth?: boolean;
}

type Body = Parameters<Client['createProject']>[0]['body'];

export function addCommand(): Command {
  return withSettings(
    serviceCommand('add', 'connect a Firestore database; the connection is checked at once')
      .argument('<name>', 'what to call it here')
      .requiredOption('-s, --source <id>', 'the Google Cloud project')
      .option('-d, --database <id>', 'database of the project', '(default)')
      .option('--service-account-key <file>', 'connect with this key; - reads it from the input')
      .option('--oauth', 'connect with your own consent at Google')
      .option('--emulator <host:port>', 'connect to an emulator, where the operator allows it'),
  ).action(
    async (name: string, options: AddOptions) =>
      await withService(options, async ({ client }) => {
        const { source: sourceProjectId, database: databaseId } = options;
        const connection = await connectionOf(options);
        const body = { name, sourceProjectId, databaseId, connection, settings: settingsOf(options) };
        const project = await client.createProject({ body });
        showProject(project, options);
        await warnAboutDuplicateName(client.paginate('listProjects', { query: { limit: 200 } }), project, 'project');
      }),
  );
}

async function connectionOf({ serviceAccountKey, emulator, oauth }: AddOptions): Promise<Body['connection']> {
  const ways = [serviceAccountKey, emulator, oauth].filter((way) => way !== undefined).length;
  if (ways !== 1) throw wrongUsage('Say how to connect: --service-account-key, --oauth or --emulator.');
  if (serviceAccountKey !== undefined) return { type: 'service_account', key: await readKeyFile(serviceAccountKey) };
  return emulator === undefined ? { type: 'oauth' } : { type: 'emulator', host: emulator };
}
