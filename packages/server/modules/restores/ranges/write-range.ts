import { restorePuts } from '@holdfast/engine';
import type { RestoresContext } from '../context.ts';
import { journalSeal } from '../journal/restore-journal.ts';
import { type OpenRestore, putOptions } from '../run/put-options.ts';
import type { RangeMeter } from './range-meter.ts';

/** Writes the documents of one range from its last checkpoint. Nothing is deleted. */
export async function writeRange(context: RestoresContext, meter: RangeMeter, open: OpenRestore): Promise<void> {
  const signal = AbortSignal.any([open.signal, meter.lost]);
  try {
    await write(context, meter, { ...open, signal });
  } catch (error) {
    throw meter.lost.aborted ? meter.lost.reason : error;
  }
}

async function write(context: RestoresContext, meter: RangeMeter, open: OpenRestore): Promise<void> {
  const { row, target } = meter;
  await meter.useJournal(await journalSeal(context, row));
  if (target.writeRampUp) await meter.untilOthersHaveHeard(open.signal);
  const result = await restorePuts({
    ...putOptions(open, { row, target, scope: row.scope!, after: meter.range.reached }),
    range: meter.paths,
    pace: meter.pace,
    ...meter.stage({
      checkpoint: ({ settledThrough }) => settledThrough,
      onMismatch: (mismatch) => meter.saveAndReplace(mismatch),
      former: async (path) => open.before?.get(path),
    }),
  });
  await meter.settle(undefined, result);
  await meter.finish();
}
