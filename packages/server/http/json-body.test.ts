import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foundOrganization, signUp } from '../testing/people.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { bodyValuesMax, countValues } from './json-body.ts';

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return 1 + Object.values(value).reduce((sum: number, item) => sum + valuesIn(item), 0);
}

test('values are counted without being parsed: never too few, and one too many for each empty list or object', () => {
  const emptyIn = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0;
    const items = Object.values(value);
    return items.length === 0 ? 1 : items.reduce((sum: number, item) => sum + emptyIn(item), 0);
  };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(3), (value, indent) => {
      const json = Buffer.from(JSON.stringify(value, undefined, indent));
      expect(countValues(json)).toBe(valuesIn(value) + emptyIn(value));
    }),
  );
  expect(countValues(Buffer.from('["a,[{\\",[", "\\\\", 1]'))).toBe(4);
});

describe('a body', () => {
  let app: TestApp;
  let as: { token: string; organizationId: string };
  beforeAll(async () => {
    app = await startTestApp();
    const ada = await signUp(app, 'ada@example.com');
    as = { token: ada.token, organizationId: await foundOrganization(app, ada) };
  });
  afterAll(() => app.close());

  const restore = (documentIds: unknown) =>
    app.request('POST', '/api/v1/backups/restore', { ...as, body: { backupId: 'bkp_none', documentIds } });

  test('with more values than any call takes is refused before anybody else waits for it', {
    tags: 'long',
  }, async () => {
    const kinds: [string, unknown][] = [
      ['numbers', Array.from({ length: 400_000 }, () => 1)],
      ['objects', Array.from({ length: 300_000 }, () => ({}))],
      ['names', Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [index.toString(36), 1]))],
    ];
    for (const [kind, values] of kinds) {
      const answer = await restore(values);
      expect(answer.status, kind).toBe(400);
      expect(answer.body.error.details, kind).toEqual({ field: 'body', reason: 'holds more than 20,000 values' });
    }
  });

  test('as large as a call takes is read, whatever its texts contain', async () => {
    const answer = await restore(Array.from({ length: bodyValuesMax / 2 }, (_, index) => `users/${index},[{`));
    expect(answer.body.error?.code, answer.text).toBe('BACKUP_NOT_FOUND');
  });
});
