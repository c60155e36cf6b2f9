import { Problem } from '../../../platform/problem.ts';
import type { RestoresContext } from '../context.ts';
import type { RestoreSource } from '../restore-source.ts';
import type { RestoreRow } from '../restore-store.ts';
import { basketView } from './basket-view.ts';
import { openBackup, openMoment } from './open-one-source.ts';

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
