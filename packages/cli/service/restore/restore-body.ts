import { mergeModes } from '@holdfast/contract';
import type { Client } from '@holdfast/contract/client';
import { type Command, Option } from 'commander';
import { wrongUsage } from '../../command-failure.ts';
import { collectionPaths, documentPaths } from '../../paths.ts';
import { projectIdOf } from '../references.ts';

/** What to write where and how, for a backup or a moment. */
export interface RestoreChoice {
  readonly target?: string;
  readonly collections?: string[];
  readonly documents?: string[];
  readonly below?: boolean;
  readonly mode: (typeof mergeModes)[number];
  readonly dryRun?: boolean;
  readonly deleteExtra?: boolean;
  readonly safetyBackup: boolean;
}

export const belowOption = ['--below', 'with --documents: and all that lies below them'] as const;

/** Which parts, what happens to existing documents, and whether it is a dry run. */
export function withChoice(command: Command): Command {
  return command
    .option('-c, --collections <paths...>', 'only these collections', collectionPaths)
    .option('--documents <paths...>', 'only these documents', documentPaths)
    .option(...belowOption)
    .addOption(
      new Option('-m, --mode <mode>', 'what happens to documents that exist').choices(mergeModes).default('overwrite'),
    )
    .option('--dry-run', 'count what would be done, wait for the counts, write nothing');
}

export function requireDocuments({ below, documents }: Pick<RestoreChoice, 'below' | 'documents'>): void {
  if (below && !documents) throw wrongUsage('--below belongs to --documents: collections bring what lies below them.');
}

export async function restoreBody(client: Client, choice: RestoreChoice) {
  const { target, collections, documents } = choice;
  return {
    ...(target === undefined ? {} : { targetProjectId: await projectIdOf(client, target) }),
    ...(collections && { collections }),
    ...(documents && { documentIds: documents }),
    options: {
      mergeMode: choice.mode,
      dryRun: choice.dryRun === true,
      deleteExtra: choice.deleteExtra === true,
      safetyBackup: choice.safetyBackup,
      ...(choice.below ? { includeSubcollections: true } : {}),
    },
  };
}
