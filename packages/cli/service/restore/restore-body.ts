import type { mergeModes } from '@holdfast/contract';
import type { Client } from '@holdfast/contract/client';
import { projectIdOf } from '../references.ts';

/** What to write where and how, whether it comes from a backup or from a moment. */
export interface RestoreChoice {
  readonly target?: string;
  readonly collections?: string[];
  readonly documents?: string[];
  readonly mode: (typeof mergeModes)[number];
  readonly dryRun?: boolean;
  readonly deleteExtra?: boolean;
  readonly safetyBackup: boolean;
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
    },
  };
}
