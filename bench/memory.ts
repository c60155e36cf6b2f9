import { type Bench, type Figure, figure } from './figure.ts';
import { withRace } from './race.ts';

const small = 100_000;
const large = 1_000_000;
const peakBytesMax = 300 * 1024 * 1024;

export const memoryBench: Bench = {
  name: 'memory',
  about: `Peak resident memory of a fresh process that backs up, verifies or restores ${large.toLocaleString('en-US')} documents, against one that does ${small.toLocaleString('en-US')}; it must also stay under 300 MiB.`,
  async run() {
    const peaks = { small: await peaksFor(small), large: await peaksFor(large) };
    return (['backup', 'verify', 'restore'] as const).map((work): Figure => {
      const [few, many] = [peaks.small[work], peaks.large[work]];
      const details = { peakMiB: Math.round(many / 2 ** 20), peakMiBOfSmall: Math.round(few / 2 ** 20) };
      return figure(
        'memory',
        `${work} of ${small.toLocaleString('en-US')}`,
        many / few,
        1.2,
        'lower',
        details,
        many < peakBytesMax,
      );
    });
  },
};

async function peaksFor(documents: number): Promise<Record<'backup' | 'verify' | 'restore', number>> {
  return await withRace(['holdfast'], async (first) => {
    await first.sandbox.tell({ do: 'fill', project: 'bench', collection: 'orders', documents });
    const task = { project: 'bench', collection: 'orders' } as const;
    const backup = await first.run('holdfast', { ...task, do: 'backup' });
    const verify = await first.inFreshProcess('holdfast', { ...task, do: 'verify' });
    const restore = await first.inFreshProcess('holdfast', { ...task, do: 'restore', targetProject: 'restored' });
    return { backup: backup.peakRssBytes, verify: verify.peakRssBytes, restore: restore.peakRssBytes };
  });
}
