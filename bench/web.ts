import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LongestTask } from '../packages/web/testing/longest-task.ts';
import { type Bench, type Figure, figure } from './figure.ts';

/** A page that is busy for longer than this misses frames that people see. */
const busyMsMax = 50;
const root = fileURLToPath(new URL('..', import.meta.url));

/** The browser tests of long lists at their whole size, with the longest time the page was busy at one go. */
export const webBench: Bench = {
  name: 'web',
  about:
    'The dashboard in a real browser: 10,000 backups scrolled to their end, 20,000 documents of a collection paged to their end and searched. Measured is the longest task of the page by the clock, with how much of it waited for a processor, and the one that took most of a processor with what it was busy with: on a machine that does something else as well, only the second is the page’s own.',
  async run() {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-web-'));
    try {
      const report = join(folder, 'figures.json');
      await promisify(execFile)(
        process.execPath,
        [join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'packages/web/tests/long-lists.test.ts'],
        { cwd: root, env: { ...process.env, LONG_LISTS_REPORT: report }, maxBuffer: 64 * 1024 * 1024 },
      );
      const measured = JSON.parse(await readFile(report, 'utf8')) as Record<'backups' | 'documents', LongestTask>;
      return [...figuresOf('10,000 backups', measured.backups), ...figuresOf('20,000 documents', measured.documents)];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

function figuresOf(name: string, { wallMs, waitedMs, processorMs, ...parts }: LongestTask): Figure[] {
  const against = `a frame people see, ${busyMsMax} ms`;
  return [
    figure(`${name}, by the clock`, against, wallMs / busyMsMax, 1, 'lower', { longestMs: wallMs, waitedMs }),
    figure(`${name}, processor time`, against, processorMs / busyMsMax, 1, 'lower', { processorMs, ...parts }),
  ];
}
