import { expect, test } from 'vitest';
import { createLogger } from './log.ts';

test('a database error is logged with its code and without its connection', () => {
  const lines: string[] = [];
  const log = createLogger('warn', { write: (line) => void lines.push(line) });
  const client = { processID: 4711, secretKey: -15_318, user: 'holdfast' };
  const cause = new Error('the wire was cut');
  log.warn({ err: Object.assign(new Error('terminated', { cause }), { code: '57P01', client }) }, 'a connection broke');
  expect(JSON.parse(lines[0]!)).toMatchObject({ err: { type: 'Error', code: '57P01' }, msg: 'a connection broke' });
  expect(JSON.parse(lines[0]!).err.message).toBe('terminated: the wire was cut');
  expect(lines[0]).not.toMatch(/secretKey|4711/);
});
