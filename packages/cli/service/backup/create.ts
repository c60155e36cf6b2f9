import { backupTypes } from '@holdfast/contract';
import type { Client } from '@holdfast/contract/client';
import { type Command, Option } from 'commander';
import { exitCode } from '../../exit-codes.ts';
import { countOf, formatBytes, formatCount, formatMoney, printJson, printLine, printTable } from '../../output.ts';
import { collectionPaths } from '../../paths.ts';
import { reportEnd, waitForJob } from '../jobs.ts';
import { serviceCommand, type WaitOptions, withWait } from '../options.ts';
import { projectIdOf, storageIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { showBackup } from './show.ts';

interface CreateOptions extends WaitOptions {
  readonly type: (typeof backupTypes)[number];
  readonly collections?: string[];
  readonly exclude?: string[];
  readonly subcollections: boolean;
  readonly authUsers?: boolean;
  readonly storage?: string[];
  readonly dryRun?: boolean;
}

export function createCommand(): Command {
  return withWait(serviceCommand('create', 'start a backup of a project'))
    .argument('<project>', 'id or name')
    .addOption(new Option('-t, --type <type>', 'what kind of backup').choices(backupTypes).default('full'))
    .option('-c, --collections <paths...>', 'only these collections', collectionPaths)
    .option('--exclude <paths...>', 'leave these collections out', collectionPaths)
    .option('--no-subcollections', 'without the collections below the documents of the named collections')
    .option('--auth-users', "with the accounts, whatever the project's setting")
    .option('--no-auth-users', "without the accounts, whatever the project's setting")
    .option('-s, --storage <names...>', 'ids or names of the destinations; absent: the default one')
    .option('--dry-run', 'say what it would take and do nothing')
    .action(
      async (project: string, options: CreateOptions) =>
        await withService(options, async (service) => {
          const body = await bodyOf(service.client, project, options);
          const answer = await service.client.createBackup({ body });
          if ('dryRun' in answer) return showDryRun(answer, options);
          if (!options.wait) return options.json ? printJson(answer) : printLine(`${answer.id} ${answer.status}`);
          const backup = await waitForJob(service, answer.id, options);
          if (!('restoreJobId' in backup)) showBackup(backup, options);
          reportEnd(backup);
        }),
    );
}

type Body = Parameters<Client['createBackup']>[0]['body'];

async function bodyOf(client: Client, project: string, options: CreateOptions): Promise<Body> {
  const { type, collections, exclude, subcollections, authUsers, storage, dryRun } = options;
  const storages = await Promise.all((storage ?? []).map((name) => storageIdOf(client, name)));
  return {
    projectId: await projectIdOf(client, project),
    type,
    includeSubcollections: subcollections,
    dryRun: dryRun === true,
    ...(collections && { collections }),
    ...(exclude && { excludeCollections: exclude }),
    ...(authUsers === undefined ? {} : { includeAuthUsers: authUsers }),
    ...(storages.length > 0 && { storageDestinationIds: storages }),
  };
}

type DryRun = Extract<Awaited<ReturnType<Client['createBackup']>>, { dryRun: true }>;

function showDryRun(plan: DryRun, { json, collections = [] }: CreateOptions): void {
  const empty = plan.collections.filter(({ documentCount }) => documentCount === 0).map(({ path }) => path);
  const isAny = plan.collections.some(({ documentCount }) => documentCount > 0);
  if (collections.length > 0 && !isAny) process.exitCode = exitCode.notFound;
  for (const path of collections.length > 0 ? empty : [])
    process.stderr.write(`Warning: There are no documents in ${path}.\n`);
  if (json) {
    printJson(plan);
    return;
  }
  printTable([
    ['COLLECTION', 'DOCUMENTS', 'SIZE'],
    ...plan.collections.map((entry) => [
      entry.path,
      formatCount(entry.documentCount),
      formatBytes(entry.estimatedBytes),
    ]),
  ]);
  printLine(
    `${countOf(plan.documentCount, 'document')}, about ${formatBytes(plan.estimatedBytes)}, ${countOf(plan.estimatedReads, 'read')} (${formatMoney(plan.estimatedCost, plan.currency)}), ${Math.ceil(plan.estimatedDurationSeconds)} s.`,
  );
}
