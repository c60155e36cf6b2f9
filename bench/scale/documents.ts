import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bench, figure } from '../figure.ts';

const small = 1_000_000;
const large = 10_000_000;
const peakBytesMax = 300 * 1024 * 1024;

/** As the command line starts the engine. */
const engineFlags = ['--max-semi-space-size=2'];

interface Done {
  readonly seconds: number;
  readonly peakRssBytes: number;
}

export const scaleDocumentsBench: Bench = {
  name: 'scale-documents',
  about: `${large.toLocaleString('en-US')} documents of about 600 bytes, made while they are read, backed up into a folder and restored, each byte compared: peak resident memory of a fresh process against one that does ${small.toLocaleString('en-US')}.`,
  async run() {
    const root = await mkdtemp(join(tmpdir(), 'holdfast-scale-'));
    try {
      const figures = [];
      const few = { backup: await run('backup', small, root), restore: await run('restore', small, root) };
      for (const work of ['backup', 'restore'] as const) {
        const { seconds, peakRssBytes } = await run(work, large, root);
        const details = {
          peakMiB: Math.round(peakRssBytes / 2 ** 20),
          peakMiBOfSmall: Math.round(few[work].peakRssBytes / 2 ** 20),
          seconds: Math.round(seconds),
          documentsPerSecond: Math.round(large / seconds),
        };
        const ratio = peakRssBytes / few[work].peakRssBytes;
        figures.push(figure('scale', `${work} of a tenth`, ratio, 1.2, 'lower', details, peakRssBytes < peakBytesMax));
      }
      return figures;
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  },
};

async function run(work: 'backup' | 'restore', documents: number, root: string): Promise<Done> {
  const child = fork(new URL('./documents-process.ts', import.meta.url), [work, String(documents), root], {
    execArgv: engineFlags,
  });
  const ended = once(child, 'exit');
  const done = await Promise.race([once(child, 'message'), ended]);
  await ended;
  if (child.exitCode !== 0) throw new Error(`The ${work} of ${documents} documents failed.`);
  return done[0] as Done;
}
