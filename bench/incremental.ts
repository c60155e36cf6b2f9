import { connectFirestore, createLocalStore, KeyRing, openChain, runBackup, SegmentCodec } from '@holdfast/engine';
import { type Bench, figure } from './figure.ts';
import { withRace } from './race.ts';

const documents = 200_000;

export const incrementalBench: Bench = {
  name: 'incremental',
  about: `An increment after 1 % of ${documents.toLocaleString('en-US')} documents changed: bytes stored and bytes received from the database, against those of the full backup.`,
  async run() {
    return await withRace([], async (race) => {
      const { sandbox } = race;
      await sandbox.tell({ do: 'fill', project: 'bench', collection: 'orders', documents });
      const store = await createLocalStore({ root: race.folder });
      const tools = { store, keys: new KeyRing([{ key: new Uint8Array(32).fill(1) }]), codec: new SegmentCodec() };
      const backUp = async (backupId: string, parent?: string) => {
        const { source, close } = connectFirestore({
          projectId: 'bench',
          connection: { type: 'emulator', host: sandbox.address },
        });
        const parentChain = parent === undefined ? [] : await openChain({ ...tools, backupId: parent });
        const { storedBytes, body } = await runBackup({
          ...tools,
          source,
          backupId,
          parentChain,
          concurrency: 1,
          targetRanges: 1,
        });
        const { bytesReceived } = source.usage;
        await close();
        return { storedBytes, bytesReceived, counts: body.counts };
      };
      const full = await backUp('full');
      const { changed } = (await sandbox.tell({
        do: 'change',
        project: 'bench',
        collection: 'orders',
        every: 100,
      })) as { changed: number };
      const increment = await backUp('increment', 'full');
      if (increment.counts.puts !== changed)
        throw new Error(`${increment.counts.puts} documents stored instead of ${changed}.`);
      const stored = { storedBytes: increment.storedBytes, storedBytesOfFull: full.storedBytes, changed };
      const received = { bytesReceived: increment.bytesReceived, bytesReceivedOfFull: full.bytesReceived };
      return [
        figure(
          'incremental',
          'stored bytes of the full',
          increment.storedBytes / full.storedBytes,
          0.03,
          'lower',
          stored,
        ),
        figure(
          'incremental',
          'bytes received for the full',
          increment.bytesReceived / full.bytesReceived,
          0.15,
          'lower',
          received,
        ),
      ];
    });
  },
};
