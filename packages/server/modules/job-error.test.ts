import { errorDefinition, jobErrorDetails } from '@holdfast/contract';
import { EngineError, type EngineErrorCode } from '@holdfast/engine';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { Problem } from '../platform/problem.ts';
import { MasterKeyring } from '../platform/secrets/master-keyring.ts';
import { toJobError, toProblem } from './job-error.ts';

const codes: EngineErrorCode[] = [
  ...(['SOURCE_AUTH_ERROR', 'SOURCE_QUOTA_EXCEEDED', 'SOURCE_UNAVAILABLE', 'SOURCE_NOT_FOUND'] as const),
  ...(['SNAPSHOT_TOO_OLD', 'STORAGE_UNAVAILABLE', 'STORAGE_PERMISSION_DENIED', 'STORAGE_NOT_FOUND'] as const),
  ...(['STORAGE_CREDENTIALS_MISSING', 'STORAGE_UPLOAD_ERROR', 'STORAGE_CONFLICT'] as const),
  ...(['RESTORE_PERMISSION_DENIED', 'RESTORE_QUOTA_EXCEEDED', 'INTEGRITY_ERROR', 'DECRYPTION_ERROR'] as const),
  ...(['POINT_IN_TIME_UNAVAILABLE', 'VALIDATION_ERROR', 'CANCELLED'] as const),
];
const day = '2026-03-01T02:00:00.000Z';
/** The engine knows much more about an error than an answer may contain. */
const known = [{}, { missing: ['segment'], backupId: 'bkp_1' }, { missing: 'roles/datastore.user', code: 'EACCES' }];

test.each(codes)('an answer made of %s has only the details that the API document names for its code', (code) => {
  for (const details of [...known, { before: day, after: null }]) {
    const problem = toProblem(new EngineError(code, 'It failed.', { details }));
    if (!(problem instanceof Problem)) throw new Error('is no answer');
    const named = errorDefinition(problem.code).details as z.ZodObject | undefined;
    if (named) named.strict().parse(problem.details);
    else expect(problem.details).toBeUndefined();
  }
});

test('the two nearest instants stay in the answer', () => {
  const details = { before: day, after: null };
  expect(toProblem(new EngineError('POINT_IN_TIME_UNAVAILABLE', 'A gap.', { details }))).toMatchObject({ details });
});

test.each(codes)('a record of %s has only the details that the API document names', (code) => {
  for (const details of [...known, { status: 'odd', key: 'x'.repeat(3000), lockedKeys: ['a'] }])
    jobErrorDetails.strict().parse(toJobError(new EngineError(code, 'It failed.', { details })).details);
});

test('details that a person or a program can act on stay in the record, also when it is converted a second time', () => {
  const details = { key: 'backups/bkp_1/manifest', code: 'AccessDenied', status: 403, requestId: '4711', attempts: 5 };
  const here = { storageDestinationId: 'dst_1' };
  const {
    code,
    message,
    details: kept,
  } = toJobError(new EngineError('STORAGE_UNAVAILABLE', 'Away.', { details }), here);
  expect(kept).toEqual({ ...details, ...here });
  expect(toJobError(new Problem(code as 'STORAGE_UNAVAILABLE', message, { details: { ...kept } })).details).toEqual(
    kept,
  );
});

test('a value sealed under a master key that a process lacks cannot be opened there, which is not an unexpected error', () => {
  const [former, current] = [new MasterKeyring(Buffer.alloc(32, 1)), new MasterKeyring(Buffer.alloc(32, 2))];
  const envelope = former.seal('secret', 'a row');
  try {
    current.open(envelope, 'a row');
    throw new Error('it was opened');
  } catch (error) {
    const message = expect.stringContaining('MASTER_KEYS_PREVIOUS');
    expect(toJobError(error)).toMatchObject({ code: 'DECRYPTION_ERROR', message, retryable: false });
  }
});
