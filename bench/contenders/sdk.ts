import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { Firestore } from '@google-cloud/firestore';
import type { Contender, ContenderTask } from './contender.ts';

/** What one writes with the official SDK: stream(), JSON lines, gzip; and a BulkWriter without throttling back. */
export const sdk: Contender = async (task) => (task.do === 'restore' ? await restore(task) : await backUp(task));

interface Snapshot {
  id: string;
  createTime: unknown;
  updateTime: unknown;
  data(): unknown;
}

const file = ({ folder }: ContenderTask) => join(folder, 'sdk.ndjson.gz');

async function backUp(task: ContenderTask): Promise<{ documents: number }> {
  const firestore = new Firestore({ projectId: task.project });
  let documents = 0;
  const lines = async function* () {
    for await (const snapshot of firestore.collection(task.collection).stream()) {
      documents += 1;
      // The stream's chunks are typed as buffers.
      const given: unknown = snapshot;
      const { id, createTime, updateTime, data } = given as Snapshot;
      yield `${JSON.stringify({ id, createTime, updateTime, data: data.call(given) })}\n`;
    }
  };
  await pipeline(lines, createGzip(), createWriteStream(file(task)));
  await firestore.terminate();
  return { documents };
}

async function restore(task: ContenderTask): Promise<{ documents: number }> {
  const firestore = new Firestore({ projectId: task.targetProject ?? task.project });
  const writer = firestore.bulkWriter({ throttling: false });
  const input = createInterface({ input: createReadStream(file(task)).pipe(createGunzip()) });
  let documents = 0;
  for await (const line of input) {
    const { id, data } = JSON.parse(line) as { id: string; data: Record<string, unknown> };
    writer.set(firestore.collection(task.collection).doc(id), data).catch((error: unknown) => {
      throw error;
    });
    documents += 1;
    // Without this the SDK holds every document in memory at once, which is slower still.
    if (documents % 5000 === 0) await writer.flush();
  }
  await writer.close();
  await firestore.terminate();
  return { documents };
}
