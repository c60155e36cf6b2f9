import type { BackupsContext } from '../context.ts';
import { writeCaptured } from './merge-backup.job.ts';
import { makeAndComplete, type SingleStep } from './single-step-backup.ts';

/**
 * Makes the full backup that a schedule of increments takes now and then by merging captured changes. The source is not
 * read, and the record says `synthetic`. False when the source has to be read, or when somebody asked for that.
 */
export async function fullFromLog(context: BackupsContext, step: SingleStep): Promise<boolean> {
  const { row } = step.loaded;
  if (row.type !== 'full' || !(await context.isPeriodicFull(row))) return false;
  if ((await context.capturedDatabase(row)) === undefined) return false;
  const captured = await context.captured(row, step.signal);
  if (!captured) return false;
  await makeAndComplete(context, step, (work) => writeCaptured(context, work, captured));
  return true;
}
