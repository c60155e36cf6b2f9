import { type Command, Option } from 'commander';
import { exitCode } from '../exit-codes.ts';
import { formatBytes, formatCount, printJson, printLine, writeOut } from '../output.ts';
import { writeWholeFile } from '../whole-file.ts';
import { pageSize, printList } from './lists.ts';
import { groupCommand, type ListOptions, listCommand, type ServiceOptions, serviceCommand } from './options.ts';
import { withService } from './session.ts';

interface Filters {
  readonly from?: string;
  readonly to?: string;
  readonly action?: string;
}

interface ExportOptions extends ServiceOptions, Filters {
  readonly format: 'csv' | 'json' | 'ndjson';
  readonly output?: string;
}

/** What an auditor needs; admins and the owner may use it. */
export function auditCommand(): Command {
  const about = 'the audit log: who did what, and whether the log is whole';
  return groupCommand('audit', about, [entriesCommand(), verifyCommand(), exportCommand()]);
}

const withFilters = (command: Command) =>
  command
    .option('--from <date>', 'at this time or later')
    .option('--to <date>', 'before this time; a plain date includes its whole day')
    .option('--action <action>', 'only this, such as backup.deleted');

const filtersOf = ({ from, to, action }: Filters) => ({ from, to, action });

function entriesCommand(): Command {
  return withFilters(listCommand('list the entries, newest first')).action(
    async (options: ListOptions & Filters) =>
      await withService(options, async ({ client }) => {
        const query = { ...filtersOf(options), limit: pageSize(options.limit) };
        await printList('entries', client.paginate('listAuditLogs', { query }), options, {
          head: ['TIME', 'ACTION', 'ON', 'WHO', 'FROM'],
          row: ({ timestamp, action, resource, actor, context }) => [
            timestamp,
            action,
            resource.id ?? resource.type,
            actor.email ?? actor.id ?? actor.type,
            context.ip ?? '',
          ],
        });
      }),
  );
}

function verifyCommand(): Command {
  return serviceCommand(
    'verify',
    'check the hash chain of the log; exits 3 when an entry was changed, removed or added',
  ).action(
    async (options: ServiceOptions) =>
      await withService(options, async ({ client }) => {
        const found = await client.verifyAuditLogs();
        if (!found.valid) process.exitCode = exitCode.damaged;
        if (options.json) return printJson(found);
        const count = formatCount(found.entries);
        if (found.valid) return printLine(`Whole: ${count} entries, from ${found.from} to ${found.to}.`);
        printLine(`Broken at ${found.brokenAt ?? 'its end'}: ${count} entries were checked.`);
      }),
  );
}

function exportCommand(): Command {
  return withFilters(serviceCommand('export', 'write the log into a file, newest entry first'))
    .addOption(new Option('--format <format>', 'of the file').choices(['csv', 'json', 'ndjson']).default('ndjson'))
    .option('-o, --output <file>', 'into this file instead of the output')
    .action(
      async ({ output, format, ...options }: ExportOptions) =>
        await withService(options, async ({ client }) => {
          const stream = await client.exportAuditLogs({ query: { ...filtersOf(options), format } });
          if (output === undefined) {
            for await (const text of stream.text()) await writeOut(process.stdout, text);
            return;
          }
          const written = { file: output, bytes: 0 };
          if (!(await writeWholeFile(output, counted(stream.text(), written)))) return;
          if (options.json) printJson(written);
          else printLine(`Wrote ${formatBytes(written.bytes)} to ${output}.`);
        }),
    );
}

async function* counted(texts: AsyncIterable<string>, count: { bytes: number }): AsyncGenerator<string> {
  for await (const text of texts) {
    count.bytes += Buffer.byteLength(text);
    yield text;
  }
}
