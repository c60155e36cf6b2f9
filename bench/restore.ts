import { type Bench, figure } from './figure.ts';
import { withRace } from './race.ts';

const documents = 200_000;
const project = 'bench';
const targetProject = 'again';

export const restoreBench: Bench = {
  name: 'restore',
  about: `The same ${documents.toLocaleString('en-US')} documents read from the backup, opened, checked and written into an empty database; against the official SDK's BulkWriter with throttling off, from its own gzipped JSON, and against a writer that only sends prepared BatchWrite bytes.`,
  async run() {
    return await withRace(['holdfast', 'raw', 'sdk'], async (race) => {
      await race.sandbox.tell({ do: 'fill', project, collection: 'orders', documents });
      const backup = { project, collection: 'orders', do: 'backup' } as const;
      for (const name of ['holdfast', 'sdk'] as const) await race.run(name, backup);
      const task = { ...backup, do: 'restore', targetProject } as const;
      await race.run('raw', { ...task, do: 'prepare' });
      const before = async () => await race.sandbox.tell({ do: 'clear', project: targetProject });
      const whole = { collection: 'orders', count: documents };
      const rates = await race.rates([
        { name: 'raw', task, warmUp: task, rounds: 5, documents: whole, before },
        { name: 'holdfast', task, warmUp: task, rounds: 5, documents: whole, before },
        { name: 'sdk', task, rounds: 2, documents: whole, before },
      ]);
      const ours = rates.get('holdfast')!;
      const against = (name: 'sdk' | 'raw', target: number) => {
        const theirs = rates.get(name)!;
        const details = { documentsPerSecond: Math.round(ours), peerDocumentsPerSecond: Math.round(theirs) };
        return figure('restore', name, ours / theirs, target, 'higher', details);
      };
      return [against('sdk', 4), against('raw', 0.5)];
    });
  },
};
