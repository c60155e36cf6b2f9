import { type Bench, figure } from './figure.ts';
import { installPeers } from './peers/install.ts';
import { withRace } from './race.ts';

const documents = 200_000;
/** The peers hold everything in memory and ask for documents one by one; a rate needs no more of it than this. */
const peerDocuments = 2_000;
const project = 'bench';

export const backupBench: Bench = {
  name: 'backup',
  about: `${documents.toLocaleString('en-US')} orders of about 600 bytes, scanned, compressed, sealed and stored in a folder; documents per second against the official SDK's stream() + JSON + gzip, against a reader that throws every byte away, and against two tools from npm (those on ${peerDocuments.toLocaleString('en-US')} documents).`,
  async run() {
    const tools = installPeers() ? (['firestore-export-import', 'node-firestore-import-export'] as const) : [];
    if (tools.length === 0) console.error('The tools from npm could not be installed and are left out.');
    const names = ['holdfast', 'raw', 'sdk', ...tools] as const;
    return await withRace(names, async (race) => {
      await race.sandbox.tell({ do: 'fill', project, collection: 'orders', documents });
      await race.sandbox.tell({
        do: 'fill',
        project: 'small',
        collection: 'orders',
        documents: peerDocuments,
        seed: 2,
      });
      const task = { project, collection: 'orders', do: 'backup' } as const;
      const small = { ...task, project: 'small' };
      const whole = { collection: 'orders', count: documents };
      const rates = await race.rates([
        { name: 'raw', task, warmUp: task, rounds: 11, documents: whole },
        { name: 'holdfast', task, warmUp: task, rounds: 11, documents: whole },
        { name: 'sdk', task, warmUp: small, rounds: 2 },
        ...tools.map((name) => ({ name, task: small, rounds: 1 })),
      ]);
      const ours = rates.get('holdfast')!;
      const against = (name: (typeof names)[number], target: number) => {
        const theirs = rates.get(name)!;
        const details = { documentsPerSecond: Math.round(ours), peerDocumentsPerSecond: Math.round(theirs) };
        return figure('backup', name, ours / theirs, target, 'higher', details);
      };
      return [against('sdk', 12), against('raw', 0.5), ...tools.map((name) => against(name, 12))];
    });
  },
};
