import type { BackupsContext } from '../context.ts';
import { writeCaptured } from './merge-backup.job.ts';
import { carryOut, type SingleStep } from './single-step-backup.ts';

/**
 * The full backup that the rhythm of increments asks for, merged from captured changes: the source is not read, and the
 * record says `synthetic`. False when it has to be read, or when somebody wants it read.
 */
export async function fullOfLog(context: BackupsContext, step: SingleStep): Promise<boolean> {
  const { row } = step.loaded;
  if (row.type !== 'full' || !(await context.isOfRhythm(row))) return false;
  if ((await context.capturedDatabase(row)) === undefined) return false;
  const captured = await context.captured(row, step.signal);
  if (!captured) return false;
  await carryOut(context, step, (work) => writeCaptured(context, work, captured));
  return true;
}
