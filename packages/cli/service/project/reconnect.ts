import type { Command } from 'commander';
import { printJson, printLine } from '../../output.ts';
import { exitCodeOfService } from '../exit-code.ts';
import { readKeyFile } from '../key-file.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { projectIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { projectArgument } from './show.ts';

interface ReconnectOptions extends ServiceOptions {
  readonly serviceAccountKey?: string;
}

export function reconnectCommand(): Command {
  return serviceCommand('reconnect', 'repair the connection of a project')
    .argument(...projectArgument)
    .option('--service-account-key <file>', 'with this new key; - reads it from the input')
    .action(
      async (reference: string, options: ReconnectOptions) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          const { serviceAccountKey: file } = options;
          const body = file === undefined ? {} : { key: await readKeyFile(file) };
          const { authorizationUrl, connection } = await client.reconnectProject({ params: { projectId }, body });
          if (options.json) printJson({ authorizationUrl, connection });
          else if (authorizationUrl !== null) printLine(`Give your consent again at\n${authorizationUrl}`);
          else printLine(`The project is ${connection.status}.`);
          if (connection.error !== null && authorizationUrl === null)
            process.exitCode = exitCodeOfService(connection.error.code);
        }),
    );
}
