import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { exitCode } from '../exit-codes.ts';
import { formatCount, printJson, printLine } from '../output.ts';
import { backupArgument } from './backup/show.ts';
import { pollJob, printJobError, reportEnd } from './jobs.ts';
import { pageSize, printList } from './lists.ts';
import { groupCommand, type ListOptions, listCommand, serviceCommand, type WaitOptions, withWait } from './options.ts';
import { backupIdOf, notFound, projectIdOf } from './references.ts';
import { type Service, withService } from './session.ts';

interface DrillOptions extends WaitOptions {
  readonly target?: string;
}

type Drill = Awaited<ReturnType<Client['startDrill']>>;

export function drillCommand(): Command {
  return groupCommand('drill', 'prove a backup by a trial restore (`drill <backup>`)', [listDrills()], startDrill());
}

function startDrill(): Command {
  return withWait(serviceCommand('start', 'restore a backup as a test, compare every document and measure the time'))
    .argument(...backupArgument)
    .option(
      '-t, --target <project>',
      'into the empty database of this project, where it stays; absent: a scratch database',
    )
    .action(
      async (reference: string, options: DrillOptions) =>
        await withService(options, async (service) => {
          const { client } = service;
          const backupId = await backupIdOf(client, reference);
          const body =
            options.target === undefined ? {} : { targetProjectId: await projectIdOf(client, options.target) };
          const started = await client.startDrill({ params: { backupId }, body });
          if (!options.wait) return options.json ? printJson(started) : printLine(`${started.id} ${started.status}`);
          showDrill(await pollJob(service, () => findDrill(service, started), options), options);
        }),
    );
}

/** Finds a drill among those of its backup. */
async function findDrill({ client }: Service, { id, backupId }: Drill): Promise<Drill> {
  for await (const drill of client.paginate('listDrills', { params: { backupId }, query: { limit: 200 } }))
    if (drill.id === id) return drill;
  throw notFound('NOT_FOUND', `The drill ${id} is gone, and so is its backup.`);
}

function showDrill(drill: Drill, options: DrillOptions): void {
  reportEnd(drill);
  if (drill.status === 'completed' && drill.passed === false) process.exitCode = exitCode.damaged;
  if (options.json) {
    printJson(drill);
    return;
  }
  printJobError(drill);
  const { report, passed } = drill;
  if (report === null) {
    printLine(`${drill.id} ${drill.status}`);
    return;
  }
  const { documentsMatched, documentsExpected, restoreDurationMs, differences, target } = report;
  printLine(
    `${passed ? 'Passed' : 'Not passed'}: ${formatCount(documentsMatched)} of ${formatCount(documentsExpected)} documents equal, restored in ${(restoreDurationMs / 1000).toFixed(1)} s.`,
  );
  for (const { path, kind } of differences.sample) printLine(`  ${path}: ${kind}`);
  const notShown = differences.count - differences.sample.length;
  if (notShown > 0) printLine(`  and ${formatCount(notShown)} more`);
  if (target.contents === 'left') printLine(`What was restored stays in ${target.database}.`);
}

function listDrills(): Command {
  return listCommand('list the drills of a backup, newest first')
    .argument(...backupArgument)
    .action(
      async (reference: string, options: ListOptions) =>
        await withService(options, async ({ client }) => {
          const params = { backupId: await backupIdOf(client, reference) };
          const query = { limit: pageSize(options.limit) };
          await printList('drills', client.paginate('listDrills', { params, query }), options, {
            head: ['ID', 'STATUS', 'PASSED', 'CREATED'],
            row: ({ id, status, passed, createdAt }) => [
              id,
              status,
              passed === null ? '' : passed ? 'yes' : 'no',
              createdAt,
            ],
          });
        }),
    );
}
