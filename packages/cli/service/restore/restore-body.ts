import type { mergeModes } from '@holdfast/contract';
import type { Client } from '@holdfast/contract/client';
import { wrongUsage } from '../../command-failure.ts';
import { projectIdOf } from '../references.ts';

/** What to write where and how, whether it comes from a backup or from a moment. */
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

export function requireDocuments({ below, documents }: Pick<RestoreChoice, 'below' | 'documents'>): void {
  if (below && !documents) throw wrongUsage('--below belongs to --documents: collections bring what lies below them.');
}

export async function restoreBody(client: Client, choice: RestoreChoice) {
  const { target, collections, documents } = choice;
  requireDocuments(choice);
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
