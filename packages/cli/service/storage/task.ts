import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { CommandFailure } from '../../command-failure.ts';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { exitCode } from '../../exit-codes.ts';
import { countOf, formatBytes, formatCount, printJson, printLine } from '../../output.ts';
import { pollJob, printJobError, reportEnd } from '../jobs.ts';
import { printList, takeSome } from '../lists.ts';
import { serviceCommand, type WaitOptions, withWait } from '../options.ts';
import { storageIdOf } from '../references.ts';
import { type Service, withService } from '../session.ts';
import { storageArgument } from './show.ts';

type StorageTask = Awaited<ReturnType<Client['getStorageTask']>>;

interface CleaningOptions extends WaitOptions, ConfirmOptions {
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
      async (reference: string, options: CleaningOptions) =>
        await withService(options, async (service) => {
          const params = { storageDestinationId: await storageIdOf(service.client, reference) };
          if (options.dryRun) return await listOrphans(service, params, options);
          await confirm(() => sweepQuestion(service, params), options);
          await finishTask(service, await service.client.sweepStorageDestination({ params }), options);
        }),
    );
}

export function migrateCommand(): Command {
  const about = 'move every backup to another destination; each copy is verified before its original goes';
  return withYes(withWait(serviceCommand('migrate', about)))
    .argument(...storageArgument)
    .argument('<to>', 'id or name of the other destination')
    .action(
      async (reference: string, to: string, options: WaitOptions & ConfirmOptions) =>
        await withService(options, async (service) => {
          const { client } = service;
          const params = { storageDestinationId: await storageIdOf(client, reference) };
          const body = { toStorageDestinationId: await storageIdOf(client, to) };
          await confirm(async () => {
            const { usage } = await client.getStorageDestination({ params });
            const what = `${countOf(usage.backups, 'backup')}, ${formatBytes(usage.bytes)},`;
            return `Move ${what} from ${reference} to ${to}?`;
          }, options);
          await finishTask(service, await client.migrateStorageDestination({ params, body }), options);
        }),
    );
}

/** Waits for the end, because the result says how many were deleted. */
export function purgeCommand(): Command {
  const about = 'remove hidden versions of objects for good, where a bucket keeps them';
  return withYes(serviceCommand('purge', about))
    .argument(...storageArgument)
    .option('--dry-run', 'count them and remove nothing')
    .action(
      async (reference: string, { dryRun, ...options }: CleaningOptions) =>
        await withService(options, async (service) => {
          const params = { storageDestinationId: await storageIdOf(service.client, reference) };
          const purge = (body: { dryRun?: boolean }) => service.client.purgeStorageDestination({ params, body });
          if (!dryRun)
            await confirm(async () => purgeQuestion(service, await purge({ dryRun: true }), options), options);
          await finishTask(service, await purge(dryRun ? { dryRun } : {}), { ...options, wait: true });
        }),
    );
}

async function purgeQuestion(service: Service, count: StorageTask, options: WaitOptions): Promise<string> {
  const { status, error, result } = await ended(service, count, options);
  if (status !== 'completed' || !result)
    throw new CommandFailure(error?.code ?? 'CONFLICT', error?.message ?? `${count.id} ${status}`, {
      exit: exitCode.jobFailed,
    });
  const { removable = 0, bytes = 0, locked = 0, skipped = 0 } = result;
  const staying = `${formatCount(locked)} under lock stay, ${formatCount(skipped)} that backups may need too`;
  return `Remove ${formatCount(removable)} hidden versions, ${formatBytes(bytes)}, for good? Nothing brings them back (${staying}).`;
}

const countedMax = 1000;

async function sweepQuestion({ client }: Service, params: { storageDestinationId: string }): Promise<string> {
  const orphans = client.paginate('listOrphans', { params, query: { limit: 200 } });
  const { items, hasMore } = await takeSome(orphans, countedMax);
  const bytes = items.reduce((sum, orphan) => sum + orphan.bytes, 0);
  const found = `${hasMore ? 'more than ' : ''}${formatCount(items.length)} objects, ${formatBytes(bytes)}`;
  return `Delete what no backup owns (${found}; --dry-run lists them)?`;
}

async function listOrphans({ client }: Service, params: { storageDestinationId: string }, options: CleaningOptions) {
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

function ended(service: Service, started: StorageTask, options: WaitOptions): Promise<StorageTask> {
  const params = { storageDestinationId: started.storageDestinationId, taskId: started.id };
  return pollJob(service, () => service.client.getStorageTask({ params }), options);
}

async function finishTask(service: Service, started: StorageTask, options: WaitOptions): Promise<void> {
  const task = options.wait ? await ended(service, started, options) : started;
  reportEnd(task);
  const failures = task.result?.failures ?? [];
  // What a purge leaves in place does not make it fail.
  if (task.status === 'completed' && failures.length > 0 && task.kind !== 'purge')
    process.exitCode = exitCode.partlyFailed;
  if (options.json) {
    printJson(task);
    return;
  }
  printJobError(task);
  const { failures: _failures, stillUsedBy = [], ...counts } = task.result ?? {};
  const result = Object.entries(counts).map(([what, count]) => `, ${what} ${count}`);
  printLine(`${task.id} ${task.status}${result.join('')}`);
  for (const { type, id } of stillUsedBy)
    printLine(`${type} ${id} goes on writing to this destination until it is given another.`);
  for (const { key, reason } of failures) printLine(`  ${key}: ${reason}`);
}
