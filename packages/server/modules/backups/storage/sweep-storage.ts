import { Sweep, type TaskResult, type TaskRun, withStore } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { findOrphans, folderOf } from './orphan-objects.ts';

/** Removes orphans, except those that a job elsewhere may still be writing. */
export async function sweepStorage(
  context: BackupsContext,
  { destination, signal, onProgress }: TaskRun,
): Promise<TaskResult> {
  return await withStore(context.stores, destination, async (store) => {
    const sweep = new Sweep(store, signal);
    const onKept = (backupId: string, reason: string) => sweep.keep(folderOf(backupId), reason);
    const options = { after: undefined, signal, isThorough: true, onKept };
    for await (const orphan of findOrphans(context, destination, store, options)) {
      if (orphan.isYoung) sweep.keepYoung();
      else await sweep.add(orphan);
      if (sweep.isFresh) await onProgress(50, 'Removing', sweep.result.bytes);
    }
    await sweep.flush();
    return sweep.result;
  });
}
