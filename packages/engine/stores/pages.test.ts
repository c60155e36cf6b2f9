import { expect, test } from 'vitest';
import { PageCount } from './pages.ts';

const pagesUntilRefused = (names: number) => {
  const pages = new PageCount('s3://things/', 'backups/');
  for (let count = 1; ; count++)
    try {
      pages.add(names);
    } catch (error) {
      return { count, message: String(error) };
    }
};

test('a listing of full pages may be long, and still has an end', () => {
  expect(pagesUntilRefused(1000)).toEqual({ count: 20_001, message: expect.stringContaining('does not end') });
});

test('a listing of next to nothing ends sooner', () => {
  expect(pagesUntilRefused(1)).toEqual({ count: 1001, message: expect.stringContaining('does not advance') });
});
