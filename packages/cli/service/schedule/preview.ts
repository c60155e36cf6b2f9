import type { Command } from 'commander';
import { printJson, printLine, printTable } from '../../output.ts';
import { positiveInteger, type ServiceOptions, serviceCommand } from '../options.ts';
import { withService } from '../session.ts';

interface PreviewOptions extends ServiceOptions {
  readonly timezone?: string;
  readonly count: number;
}

export function previewCommand(): Command {
  return serviceCommand('preview', 'when an expression would run next; nothing is stored')
    .argument('<cron>', 'minute hour day month weekday, such as "0 2 * * *"')
    .option('--timezone <name>', "such as Europe/Berlin; absent: the organization's")
    .option('--count <n>', 'how many runs', positiveInteger, 10)
    .action(
      async (cron: string, options: PreviewOptions) =>
        await withService(options, async ({ client }) => {
          const { timezone, count } = options;
          const preview = await client.previewSchedule({ body: { cron, count, ...(timezone && { timezone }) } });
          if (options.json) return printJson(preview);
          printLine(`${preview.description} (${preview.timezone})`);
          printTable(preview.runs.map((run, index) => [preview.localRuns[index] ?? '', run]));
        }),
    );
}
