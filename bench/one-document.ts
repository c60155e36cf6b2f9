import { createLocalStore, KeyRing, openView, SegmentCodec, storedBytesOf } from '@holdfast/engine';
import { StoreCounter } from './counting-store.ts';
import { type Bench, figure } from './figure.ts';
import { withRace } from './race.ts';

const documents = 1_000_000;
const lookups = 50;

export const oneDocumentBench: Bench = {
  name: 'one-document',
  about: `One document out of ${documents.toLocaleString('en-US')}, from opening the backup to the document's bytes: object reads, and bytes against one segment's.`,
  async run() {
    return await withRace(['holdfast'], async (race) => {
      await race.sandbox.tell({ do: 'fill', project: 'bench', collection: 'orders', documents });
      await race.run('holdfast', { project: 'bench', collection: 'orders', do: 'backup' });
      const plain = await createLocalStore({ root: race.folder });
      let backupId = '';
      for await (const { key } of plain.list('backups/')) if (key.endsWith('/manifest')) backupId = key.split('/')[1]!;
      const open = { backupId, keys: new KeyRing([{ key: new Uint8Array(32).fill(1) }]), codec: new SegmentCodec() };
      const view = await openView({ ...open, store: plain });
      const segments = view.body!.segments;
      const worst = { reads: 0, segmentShare: 0, milliseconds: 0 };
      for (let index = 0; index < lookups; index += 1) {
        const segment = segments[Math.floor((index * segments.length) / lookups)]!;
        const counter = new StoreCounter();
        const startedAtMs = performance.now();
        const fresh = await openView({ ...open, store: counter.wrap(plain) });
        const manifestBytes = counter.bytesRead;
        if ((await fresh.get(index % 2 === 0 ? segment.firstPath : segment.lastPath)) === undefined)
          throw new Error('A document was not found.');
        worst.milliseconds = Math.max(worst.milliseconds, Math.round(performance.now() - startedAtMs));
        worst.reads = Math.max(worst.reads, counter.reads);
        worst.segmentShare = Math.max(worst.segmentShare, (counter.bytesRead - manifestBytes) / storedBytesOf(segment));
      }
      const details = {
        reads: worst.reads,
        segmentsRead: worst.segmentShare,
        worstMilliseconds: worst.milliseconds,
        segments: segments.length,
      };
      return [figure('one-document', 'object reads', worst.reads, 3, 'lower', details, worst.segmentShare <= 1)];
    });
  },
};
