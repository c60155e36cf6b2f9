import { type BackupReader, type Scope, type View, viewOfChain, wholeDatabase } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { RestoresContext } from '../context.ts';
import type { RestoreRow } from '../restore-store.ts';
import { basketView } from './basket-view.ts';

/** What a restore reads: a view, and the chain behind it where there is one. */
export interface RestoreSource {
  view: View;
  /** Oldest first; empty for a basket or a moment. */
  readers: readonly BackupReader[];
  /** What the view covers. */
  scope: Scope;
  close(): Promise<void>;
}

export async function openRestoreSource(
  context: RestoresContext,
  row: RestoreRow,
  signal: AbortSignal,
): Promise<RestoreSource> {
  if (row.items) return basketView(context, row, row.items, signal);
  if (row.pointInTime !== null) return openMoment(context, row, row.pointInTime, signal);
  if (row.backupId === null) throw new Problem('INTERNAL_ERROR', 'The restore names nothing to read.');
  return openBackup(context, row.organizationId, row.backupId, signal);
}

export async function openBackup(
  context: RestoresContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
): Promise<RestoreSource> {
  const { readers, close } = await context.backups.openChainOf(organizationId, backupId, signal);
  const view = viewOfChain(readers);
  return { view, readers, scope: view.body?.scope ?? wholeDatabase, close };
}

/** A project's past at an instant; refused with both neighbours where nothing reaches it. */
export async function openMoment(
  context: RestoresContext,
  row: Pick<RestoreRow, 'organizationId' | 'projectId'>,
  pointInTime: string,
  signal: AbortSignal,
): Promise<RestoreSource> {
  return context.moments.open(row.organizationId, row.projectId, pointInTime, signal);
}
