import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { exitCode } from '../../exit-codes.ts';
import { formatBytes, formatCount, printJson, printLine } from '../../output.ts';
import { pollJob, printJobError, reportEnd } from '../jobs.ts';
import { printList, takeSome } from '../lists.ts';
import { serviceCommand, type WaitOptions, withWait } from '../options.ts';
import { storageIdOf } from '../references.ts';
import { type Service, withService } from '../session.ts';
import { storageArgument } from './show.ts';

type StorageTask = Awaited<ReturnType<Client['getStorageTask']>>;

interface SweepOptions extends WaitOptions, ConfirmOptions {
  readonly dryRun?: boolean;
}

export function rescanCommand(): Command {
  return withWait(serviceCommand('rescan', 'find backups in the bucket that are not known here'))
    .argument(...storageArgument)
    .action(
      async (reference: string, options: WaitOptions) =>
        await withService(options, async (service) => {
          const params = { storageDestinationId: await storageIdOf(service.client, reference) };
          await finishTask(service, await service.client.rescanStorageDestination({ params }), options);
        }),
    );
}

export function sweepCommand(): Command {
  return withYes(withWait(serviceCommand('sweep', 'delete objects of ours that no backup owns')))
    .argument(...storageArgument)
    .option('--dry-run', 'list them and delete nothing')
    .action(
      async (reference: string, options: SweepOptions) =>
        await withService(options, async (service) => {
          const params = { storageDestinationId: await storageIdOf(service.client, reference) };
          if (options.dryRun) return await listOrphans(service, params, options);
          await confirm(() => sweepQuestion(service, params), options);
          await finishTask(service, await service.client.sweepStorageDestination({ params }), options);
        }),
    );
}

const countedMax = 1000;

async function sweepQuestion({ client }: Service, params: { storageDestinationId: string }): Promise<string> {
  const orphans = client.paginate('listOrphans', { params, query: { limit: 200 } });
  const { items, hasMore } = await takeSome(orphans, countedMax);
  const bytes = items.reduce((sum, orphan) => sum + orphan.bytes, 0);
  const found = `${hasMore ? 'more than ' : ''}${formatCount(items.length)} objects, ${formatBytes(bytes)}`;
  return `Delete what no backup owns (${found}; --dry-run lists them)?`;
}

async function listOrphans({ client }: Service, params: { storageDestinationId: string }, options: SweepOptions) {
  const orphans = client.paginate('listOrphans', { params, query: { limit: 200 } });
  await printList(
    'orphans',
    orphans,
    { ...options, limit: 1000 },
    {
      head: ['OBJECT', 'SIZE', 'CHANGED'],
      row: ({ key, bytes, lastModified }) => [key, formatBytes(bytes), lastModified],
    },
  );
}

async function finishTask(service: Service, started: StorageTask, options: WaitOptions): Promise<void> {
  const params = { storageDestinationId: started.storageDestinationId, taskId: started.id };
  const ask = () => service.client.getStorageTask({ params });
  const task = options.wait ? await pollJob(service, ask, options) : started;
  reportEnd(task);
  const failures = task.result?.failures ?? [];
  if (task.status === 'completed' && failures.length > 0) process.exitCode = exitCode.partlyFailed;
  if (options.json) {
    printJson(task);
    return;
  }
  printJobError(task);
  const { failures: _failures, ...counts } = task.result ?? {};
  const result = Object.entries(counts).map(([what, count]) => `, ${what} ${count}`);
  printLine(`${task.id} ${task.status}${result.join('')}`);
  for (const { key, reason } of failures) printLine(`  ${key}: ${reason}`);
}
