import { type Bench, type Figure, figure, median } from './figure.ts';
import { withRace } from './race.ts';

const small = 100_000;
const large = 1_000_000;
const rounds = 3;
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

type Work = 'backup' | 'verify' | 'restore';

/** The median of several processes: when the collector runs is chance, and one peak is too. */
async function peaksFor(documents: number): Promise<Record<Work, number>> {
  return await withRace([], async (race) => {
    await race.sandbox.tell({ do: 'fill', project: 'bench', collection: 'orders', documents });
    const task = { project: 'bench', collection: 'orders' } as const;
    const peakOf = async (work: Work) => {
      const peaks: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const target = work === 'restore' ? { targetProject: `restored-${round}` } : {};
        peaks.push((await race.inFreshProcess('holdfast', { ...task, do: work, ...target })).peakRssBytes);
      }
      return median(peaks);
    };
    return { backup: await peakOf('backup'), verify: await peakOf('verify'), restore: await peakOf('restore') };
  });
}
