import { restorePuts } from '@holdfast/engine';
import type { RestoresContext } from '../context.ts';
import { journalSeal } from '../journal/restore-journal.ts';
import { type OpenRestore, putOptions } from '../run/put-options.ts';
import type { RangeTracker } from './range-tracker.ts';

/** Writes the documents of one range from its last checkpoint. Nothing is deleted. */
export async function writeRange(context: RestoresContext, tracker: RangeTracker, open: OpenRestore): Promise<void> {
  const signal = AbortSignal.any([open.signal, tracker.lost]);
  try {
    await write(context, tracker, { ...open, signal });
  } catch (error) {
    throw tracker.lost.aborted ? tracker.lost.reason : error;
  }
}

async function write(context: RestoresContext, tracker: RangeTracker, open: OpenRestore): Promise<void> {
  const { row, target } = tracker;
  await tracker.useJournal(await journalSeal(context, row));
  if (target.writeRampUp) await tracker.waitUntilOthersKnow(open.signal);
  const result = await restorePuts({
    ...putOptions(open, { row, target, scope: row.scope!, after: tracker.range.reached }),
    range: tracker.paths,
    pace: tracker.pace,
    ...tracker.stage({
      checkpoint: ({ settledThrough }) => settledThrough,
      onMismatch: (mismatch) => tracker.saveAndReplace(mismatch),
      former: async (path) => open.before?.get(path),
    }),
  });
  await tracker.settle(undefined, result);
  await tracker.finish();
}
