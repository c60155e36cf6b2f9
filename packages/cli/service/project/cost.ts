import type { Command } from 'commander';
import { formatBytes, formatCount, formatMoney, printJson, printTable } from '../../output.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { projectIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { projectArgument } from './show.ts';

export function costCommand(): Command {
  return serviceCommand('cost', 'what a full backup, an incremental one and a restore would take')
    .argument(...projectArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const projectId = await projectIdOf(client, reference);
          const estimate = await client.estimateProjectCost({ params: { projectId } });
          if (options.json) return printJson(estimate);
          const row = (kind: 'full' | 'incremental' | 'restore') => {
            const { reads, writes, bytes, cost, durationSeconds } = estimate[kind];
            const money = formatMoney(cost, estimate.currency);
            return [kind, formatCount(reads), formatCount(writes), formatBytes(bytes), money, `${durationSeconds} s`];
          };
          printTable([
            ['JOB', 'READS', 'WRITES', 'SIZE', 'COST', 'TIME'],
            row('full'),
            row('incremental'),
            row('restore'),
          ]);
        }),
    );
}
