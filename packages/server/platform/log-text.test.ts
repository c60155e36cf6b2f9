import { expect, test } from 'vitest';
import { createLogger } from './log.ts';
import { textLines } from './log-text.ts';

function logged(work: (log: ReturnType<typeof createLogger>) => void): string {
  let text = '';
  work(
    createLogger(
      'debug',
      textLines((piece) => {
        text += piece;
      }),
    ),
  );
  return text;
}

test('a person sees the time, a word for the level, the message and its fields', () => {
  const text = logged((log) => {
    log.info({ backupId: 'bkp_1', counts: { documents: 3 } }, 'a job begins');
    log.warn({ err: Object.assign(new Error('refused'), { status: 403 }) }, 'a job failed');
  });
  expect(text.split('\n')).toEqual([
    expect.stringMatching(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO {2}a job begins backupId=bkp_1 counts=\{"documents":3\}$/,
    ),
    expect.stringMatching(/WARN {2}a job failed – refused$/),
    '',
  ]);
});

test('a stack is shown only for unexpected errors', () => {
  const at = (level: 'warn' | 'error') => logged((log) => log[level]({ err: new Error('odd') }, 'trouble'));
  expect(at('error')).toMatch(/ERROR trouble – odd\n {4}Error: odd\n {8}at /);
  expect(at('warn').trimEnd().split('\n')).toHaveLength(1);
});

test('input from strangers can neither move the cursor nor start a line, and secrets are left out', () => {
  const text = logged((log) =>
    log.info({ path: '/x\n2026 FATAL all is lost\u001b[2J', password: 'hunter2' }, 'refused'),
  );
  expect(text.trimEnd()).toMatch(/INFO {2}refused path=\/x 2026 FATAL all is lost \[2J password=\[redacted\]$/);
});
