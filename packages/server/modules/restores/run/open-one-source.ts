import { viewOfChain, wholeDatabase } from '@holdfast/engine';
import type { RestoresContext } from '../context.ts';
import type { RestoreSource } from '../restore-source.ts';
import type { RestoreRow } from '../restore-store.ts';

export async function openBackup(
  context: RestoresContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
): Promise<RestoreSource> {
  const { readers, readFrom, close } = await context.backups.openChainOf(organizationId, backupId, signal);
  const view = viewOfChain(readers);
  return { view, readers, scope: view.body?.scope ?? wholeDatabase, readFrom, close };
}

/** A project's state at an instant. When it cannot be reached, the error names the nearest instants that can. */
export async function openMoment(
  context: RestoresContext,
  row: Pick<RestoreRow, 'organizationId' | 'projectId'>,
  pointInTime: string,
  signal: AbortSignal,
): Promise<RestoreSource> {
  return context.moments.open(row.organizationId, row.projectId, pointInTime, signal);
}
