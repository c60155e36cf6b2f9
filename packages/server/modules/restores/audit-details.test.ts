import { expect, test } from 'vitest';
import { restoreSubject } from './audit-details.ts';

const row = { projectId: 'prj_1', targetProjectId: 'prj_1', undoOf: null, items: null, dryRun: false };

test('the log keeps the first of many paths, and of long ones so many that a page of entries stays small', () => {
  const short = Array.from({ length: 100 }, (_, index) => `users/${index}`);
  const long = Array.from({ length: 20 }, (_, index) => `${'a/b/'.repeat(1_500)}users/${index}`);
  expect(restoreSubject({ ...row, collections: null, documentPaths: short })).toMatchObject({
    documents: short.slice(0, 20),
    documentCount: 100,
  });
  const subject = restoreSubject({ ...row, collections: long, documentPaths: long });
  expect(subject).toMatchObject({ collections: long.slice(0, 1), documents: long.slice(0, 1), documentCount: 20 });
  const two = long.map((path) => path.slice(-2_000));
  expect(restoreSubject({ ...row, collections: two, documentPaths: null }).collections).toEqual(two.slice(0, 2));
});
