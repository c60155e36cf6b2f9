import { expect, test } from 'vitest';
import { partialFailure } from './partial-failure.ts';

const failure = (code: string) => ({ path: `users/${code}`, code, message: 'refused' });

test.each([
  ['PERMISSION_DENIED', 'RESTORE_PERMISSION_DENIED'],
  ['RESOURCE_EXHAUSTED', 'RESTORE_QUOTA_EXCEEDED'],
  ['NOT_FOUND', 'DOCUMENT_NOT_FOUND'],
  ['ABORTED', 'SOURCE_UNAVAILABLE'],
  ['INVALID_ARGUMENT', 'INVALID_STATE'],
  ['FAILED_PRECONDITION', 'INVALID_STATE'],
  ['AUTH_USER', 'INVALID_STATE'],
  ['DATA_LOSS', 'INTERNAL_ERROR'],
])('documents refused with %s make the restore fail with %s, which names the first of them', (code, expected) => {
  const error = partialFailure(3, [failure(code), failure('DATA_LOSS')]);
  expect(error.code).toBe(expected);
  expect(error.message).toContain(
    `3 documents were not written; everything else was. The first: users/${code}: refused`,
  );
});

test('what a person can mend by looking at single documents says so', () => {
  expect(partialFailure(1, [failure('INVALID_ARGUMENT')]).advice).toMatch(/leave those documents out/);
});
