/** A capture that can die at any moment, and what it had written down by then: base, log and position. */

import { BackupHarness } from '../../../../fixtures/backup-harness.ts';
import { encodeDocument } from '../../../../format/document-json.ts';
import type { SealContext } from '../../../../format/segment.ts';
import { runBackup } from '../../../../pipeline/backup/run-backup.ts';
import { coverageOf, type LogStretch } from '../../../../pipeline/log/log-coverage.ts';
import { LogReader } from '../../../../pipeline/log/log-reader.ts';
import { createLog, LogWriter } from '../../../../pipeline/log/log-writer.ts';
import { viewAt } from '../../../../pipeline/log/view-at.ts';
import { RecordBatchBuilder } from '../../../../pipeline/segments/record-batch-builder.ts';
import type { View } from '../../../../pipeline/view/view.ts';
import {
  type CapturePosition,
  type Instant,
  type RecordBatch,
  recordKind,
  wholeDatabase,
} from '../../../../ports/index.ts';
import { createMemoryStore } from '../../../../stores/memory/memory-store.ts';
import type { ConnectedFirestore } from '../../connect.ts';

const batchIntervalMs = 150;

export class CapturedDatabase {
  readonly harness = new BackupHarness();
  readonly connected: ConnectedFirestore;
  readonly stretches: LogStretch[] = [];
  readonly keys: string[] = [];
  readonly from: Instant;
  readonly seal: SealContext;
  covered: Instant;
  #position: CapturePosition | undefined;

  private constructor(connected: ConnectedFirestore, harness: BackupHarness, from: Instant, seal: SealContext) {
    this.connected = connected;
    this.harness = harness;
    this.from = from;
    this.covered = from;
    this.seal = seal;
  }

  /** A base backup of what there is, and an empty log behind it. */
  static async begin(connected: ConnectedFirestore): Promise<CapturedDatabase> {
    const { source } = connected;
    const harness = new BackupHarness();
    const { store, keys, codec } = harness;
    const from = await source.snapshotTime();
    await runBackup({ source, store, keys, codec, backupId: 'base', snapshotTime: from });
    const { database } = source;
    const log = { store, keys, logId: 'log', database, scope: wholeDatabase, createdAt: from, from };
    return new CapturedDatabase(connected, harness, from, await createLog(log));
  }

  /** What was captured behind an instant: the last of each document, null when it is gone. */
  async changesSince(instant: Instant): Promise<Map<string, string | null>> {
    const log = new LogReader(this.harness.store, this.seal);
    const changes = new Map<string, string | null>();
    for await (const group of log.changes(instant, this.covered, { keys: this.keys }))
      for (const { path, kind, body } of group)
        changes.set(path, kind === recordKind.put ? Buffer.from(body).toString('hex') : null);
    return changes;
  }

  async viewAt(instant: Instant, segmentKeys: readonly string[] = this.keys): Promise<View> {
    const log = new LogReader(this.harness.store, this.seal);
    const coverage = coverageOf([{ coveredFrom: this.from, coveredThrough: this.covered, marks: [], gap: null }]);
    const { codec } = this.harness;
    const chain = await this.harness.chain('base');
    return viewAt({ chain, log, instant, scratch: createMemoryStore(), codec, coverage, segmentKeys });
  }

  writer(more: { quiet?: { from: Instant; through: Instant } } = {}): LogWriter {
    const { store, codec } = this.harness;
    return new LogWriter({ store, codec, context: this.seal, nextSequence: this.keys.length, ...more });
  }

  /** One life of a capture worker: what it has not written down dies with it. */
  async capture(signal: AbortSignal): Promise<void> {
    const quietFrom = this.stretches.at(-1)?.coveredThrough ?? this.from;
    const writer = this.writer(quietFrom < this.covered ? { quiet: { from: quietFrom, through: this.covered } } : {});
    const batches = this.connected.capture.capture({
      from: this.covered,
      scope: wholeDatabase,
      batchIntervalMs,
      exactWithinMs: 10_000,
      signal,
      knownNames: (at) => this.#knownNames(at),
      ...(this.#position === undefined ? {} : { position: this.#position }),
    });
    for await (const batch of batches) {
      const segment = await writer.append(batch);
      if (signal.aborted) return;
      if (segment) {
        this.keys.push(segment.key);
        this.stretches.push(segment);
      }
      this.covered = batch.coveredThrough;
      this.#position = batch.position;
    }
  }

  async *#knownNames(at: Instant): AsyncGenerator<RecordBatch> {
    const view = await this.viewAt(at);
    const builder = new RecordBatchBuilder();
    for await (const page of view.entries())
      for (const { path } of page)
        builder.add(recordKind.put, path, encodeDocument({ name: `${view.database}/documents/${path}`, fields: {} }));
    if (!builder.isEmpty) yield builder.take();
  }
}
