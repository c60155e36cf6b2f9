import type { Command } from 'commander';
import { exitCode } from '../../exit-codes.ts';
import { printJson, printTable } from '../../output.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { storageIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { storageArgument } from './show.ts';

export function testCommand(): Command {
  return serviceCommand('test', 'write, read, list and delete a probe, step by step')
    .argument(...storageArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const storageDestinationId = await storageIdOf(client, reference);
          const result = await client.testStorageDestination({ params: { storageDestinationId } });
          if (!result.ok) process.exitCode = exitCode.unavailable;
          if (options.json) return printJson(result);
          const rows = result.steps.map(({ name, ok, durationMs, error }) => [
            ok ? '✔' : '✘',
            name,
            `${durationMs} ms`,
            error ?? '',
          ]);
          printTable([['', 'STEP', 'TIME', ''], ...rows]);
        }),
    );
}
