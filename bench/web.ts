import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Bench, figure } from './figure.ts';

/** A page that is busy for longer than this misses frames that people see. */
const busyMsMax = 50;
const root = fileURLToPath(new URL('..', import.meta.url));

/** The browser tests of long lists at their whole size, with the longest time the page was busy at one go. */
export const webBench: Bench = {
  name: 'web',
  about:
    'The dashboard in a real browser: 10,000 backups scrolled to their end, 20,000 documents of a collection paged to their end and searched. Measured is the longest task of the page.',
  async run() {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-web-'));
    try {
      const report = join(folder, 'figures.json');
      await promisify(execFile)(
        process.execPath,
        [join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'packages/web/tests/long-lists.test.ts'],
        { cwd: root, env: { ...process.env, LONG_LISTS_REPORT: report }, maxBuffer: 64 * 1024 * 1024 },
      );
      const measured = JSON.parse(await readFile(report, 'utf8')) as Record<string, number>;
      const one = (name: string, longestMs: number) =>
        figure(name, `a frame people see, ${busyMsMax} ms`, longestMs / busyMsMax, 1, 'lower', { longestMs });
      return [
        one('10,000 backups', measured.backupsLongestTaskMs ?? Number.NaN),
        one('20,000 documents', measured.documentsLongestTaskMs ?? Number.NaN),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
