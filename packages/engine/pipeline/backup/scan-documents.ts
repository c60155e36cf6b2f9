import { countReceivedBytes } from '../../memory/tune-collector.ts';
import type { PartScan } from './part-scan.ts';

/** A full backup of one stretch: bytes from the source to the writer, nothing decoded. */
export async function scanDocuments({
  source,
  plan,
  pathRange,
  readTime,
  after,
  signal,
  writer,
  tally,
  onRead,
}: PartScan): Promise<void> {
  const options = {
    scope: plan.scope,
    readTime,
    ...(after === undefined ? {} : { after }),
    ...(signal ? { signal } : {}),
  };
  for await (const batch of source.scan(pathRange, options)) {
    if (batch.count === 0) continue;
    await writer.write(batch);
    tally.documents += batch.count;
    tally.through = batch.lastPath;
    onRead(batch.count, batch.bytes.length);
    batch.release?.();
    countReceivedBytes(batch.bytes.length);
  }
}
