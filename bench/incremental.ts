import {
  connectFirestore,
  createLocalStore,
  everything,
  KeyRing,
  openChain,
  runBackup,
  SegmentCodec,
  wholeDatabase,
} from '@holdfast/engine';
import { type Bench, figure, median } from './figure.ts';
import { withRace } from './race.ts';

const documents = 200_000;
const scanRounds = 5;

export const incrementalBench: Bench = {
  name: 'incremental',
  about: `An increment after 1 % of ${documents.toLocaleString('en-US')} documents changed: bytes stored and bytes received from the database, against those of the full backup. Every document has times of its own; the scan of all names is measured over REST and over gRPC, in turns.`,
  async run() {
    return await withRace([], async (race) => {
      const { sandbox } = race;
      await sandbox.tell({ do: 'fill', project: 'bench', collection: 'orders', documents, isOverAYear: true });
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
      const names = await scanNamesBothWays(sandbox.address);
      const received = { bytesReceived: increment.bytesReceived, bytesReceivedOfFull: full.bytesReceived, ...names };
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

/** What the names of all documents cost each way: on the wire, by the clock, and of this process. */
async function scanNamesBothWays(host: string): Promise<Record<string, number>> {
  const rest: NameScan[] = [];
  const grpc: NameScan[] = [];
  for (let round = 0; round < scanRounds; round += 1) {
    rest.push(await scanNames(host, true));
    grpc.push(await scanNames(host, false));
  }
  const middle = (scans: readonly NameScan[], key: keyof NameScan) =>
    Math.round(median(scans.map((scan) => scan[key])) * 10) / 10;
  return {
    bytesPerNameOverRest: middle(rest, 'bytesPerName'),
    bytesPerNameOverGrpc: middle(grpc, 'bytesPerName'),
    processorMicrosecondsPerNameOverRest: middle(rest, 'processorMicrosecondsPerName'),
    processorMicrosecondsPerNameOverGrpc: middle(grpc, 'processorMicrosecondsPerName'),
    millisecondsOverRest: Math.round(middle(rest, 'milliseconds')),
    millisecondsOverGrpc: Math.round(middle(grpc, 'milliseconds')),
  };
}

interface NameScan {
  readonly bytesPerName: number;
  readonly processorMicrosecondsPerName: number;
  readonly milliseconds: number;
}

async function scanNames(host: string, isOverRest: boolean): Promise<NameScan> {
  const { source, close } = connectFirestore({ projectId: 'bench', connection: { type: 'emulator', host } });
  if (!isOverRest) source.client.rest.giveUp();
  const readTime = await source.snapshotTime();
  const bytesBefore = source.usage.bytesReceived;
  const startedMs = performance.now();
  const cpu = process.cpuUsage();
  let count = 0;
  for await (const batch of source.scan(everything, { scope: wholeDatabase, readTime, namesOnly: true })) {
    count += batch.count;
    batch.release?.();
  }
  const { user, system } = process.cpuUsage(cpu);
  const milliseconds = performance.now() - startedMs;
  if (count !== documents || source.client.rest.isGivenUp === isOverRest)
    throw new Error(`${count} names came, and not all of them the way they should.`);
  await close();
  return {
    bytesPerName: (source.usage.bytesReceived - bytesBefore) / count,
    processorMicrosecondsPerName: (user + system) / count,
    milliseconds,
  };
}
