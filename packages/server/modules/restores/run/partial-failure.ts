import type { JobErrorCode } from '@holdfast/contract';
import { Problem } from '../../../platform/problem.ts';
import { type StoredError, toJobError } from '../../job-error.ts';
import type { DocumentFailure } from '../tables.ts';

/** Error codes of single documents, the most telling first, and what they mean for the restore. */
const meanings: readonly (readonly [codes: readonly string[], code: JobErrorCode])[] = [
  [['PERMISSION_DENIED'], 'RESTORE_PERMISSION_DENIED'],
  [['RESOURCE_EXHAUSTED'], 'RESTORE_QUOTA_EXCEEDED'],
  [['NOT_FOUND'], 'DOCUMENT_NOT_FOUND'],
  [['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'ABORTED'], 'SOURCE_UNAVAILABLE'],
  [['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'OUT_OF_RANGE', 'ALREADY_EXISTS', 'AUTH_USER'], 'INVALID_STATE'],
];

const waitForOthers =
  'Something else writes to these documents all the time: wait until it is done, or stop it, then resume the restore.';
const lookAtEach =
  'Look at the errors of the single documents, mend their causes or leave those documents out, then resume the restore.';

/** The error of a restore in which some documents failed; the others were written and stay. */
export function partialFailure(count: number, sample: readonly DocumentFailure[]): StoredError {
  const found = new Set(sample.map(({ code }) => code));
  const areAccounts = sample.length > 0 && sample.every(({ code }) => code === 'AUTH_USER');
  const [one, several] = areAccounts ? ['account was', 'accounts were'] : ['document was', 'documents were'];
  const message = `${count} ${count === 1 ? one : several} not written; everything else was. The first: ${sample[0]?.path ?? ''}: ${sample[0]?.message ?? ''}`;
  const [, code] = meanings.find(([codes]) => codes.some((one) => found.has(one))) ?? [[], 'INTERNAL_ERROR' as const];
  const error = toJobError(new Problem(code, message));
  if (found.size === 1 && found.has('ABORTED')) return { ...error, advice: waitForOthers };
  return code === 'INVALID_STATE' || code === 'INTERNAL_ERROR' ? { ...error, advice: lookAtEach } : error;
}
