/**
 * A database that is written to at random while its capture is killed, cut off and left behind, again and again. Then
 * random instants are recovered from base and log and compared with the database's own history of commits.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { versionBytes } from '../../../../sandbox/firestore/store/document.ts';
import { pathFromKey } from '../../../../sandbox/firestore/values/key.ts';
import type { ListenBehaviour, ListenMode } from '../../../../sandbox/index.ts';
import { startFirestoreSandbox } from '../../../../sandbox/index.ts';
import { BackupHarness, contentsOf } from '../../../fixtures/backup-harness.ts';
import { encodeDocument } from '../../../format/document-json.ts';
import type { SealContext } from '../../../format/segment.ts';
import { runBackup } from '../../../pipeline/backup/run-backup.ts';
import { coverageOf, type LogStretch, marksAround } from '../../../pipeline/log/log-coverage.ts';
import { LogReader } from '../../../pipeline/log/log-reader.ts';
import { createLog, LogWriter } from '../../../pipeline/log/log-writer.ts';
import { reconcile } from '../../../pipeline/log/reconcile.ts';
import { viewAt } from '../../../pipeline/log/view-at.ts';
import { RecordBatchBuilder } from '../../../pipeline/segments/record-batch-builder.ts';
import type { View } from '../../../pipeline/view/view.ts';
import {
  type CapturePosition,
  type Instant,
  instantFromParts,
  type RecordBatch,
  recordKind,
  wholeDatabase,
} from '../../../ports/index.ts';
import { createMemoryStore } from '../../../stores/memory/memory-store.ts';
import { type ConnectedFirestore, connectFirestore } from '../connect.ts';
import { fields, write } from './firestore-harness.ts';

export interface ChaosOptions {
  readonly writes: number;
  readonly kills: number;
  readonly instants: number;
  readonly mode: ListenMode;
  readonly log?: (line: string) => void;
}

export interface ChaosResult {
  readonly writes: number;
  readonly kills: number;
  readonly staleRestarts: number;
  readonly segments: number;
  readonly gaps: number;
  readonly compared: number;
  readonly insideGaps: number;
  /** Documents of compared instants that were changed more than once between two marks. */
  readonly coalesced: number;
  /** Sentences about documents that differ and must not. */
  readonly wrong: readonly string[];
  /** What a comparison with the database at the end of the log found. */
  readonly differencesAtEnd: number;
}

const name = { project: 'chaos', database: '(default)' };
const batchIntervalMs = 150;

interface Version {
  readonly at: Instant;
  /** Null: deleted. */
  readonly hex: string | null;
}

class Chaos {
  readonly options: ChaosOptions;
  readonly harness = new BackupHarness();
  readonly history = new Map<string, Version[]>();
  readonly stretches: LogStretch[] = [];
  readonly keys: string[] = [];
  connected!: ConnectedFirestore;
  seal!: SealContext;
  from!: Instant;
  covered!: Instant;
  position: CapturePosition | undefined;
  kills = 0;
  staleRestarts = 0;

  constructor(options: ChaosOptions) {
    this.options = options;
  }

  async viewAt(instant: Instant): Promise<View> {
    const log = new LogReader(this.harness.store, this.seal);
    const coverage = coverageOf([{ coveredFrom: this.from, coveredThrough: this.covered, marks: [], gap: null }]);
    const { codec } = this.harness;
    const chain = await this.harness.chain('base');
    return viewAt({ chain, log, instant, scratch: createMemoryStore(), codec, coverage, segmentKeys: this.keys });
  }

  async *knownNames(at: Instant): AsyncGenerator<RecordBatch> {
    const view = await this.viewAt(at);
    const builder = new RecordBatchBuilder();
    for await (const page of view.entries())
      for (const { path } of page)
        builder.add(recordKind.put, path, encodeDocument({ name: `${view.database}/documents/${path}`, fields: {} }));
    if (!builder.isEmpty) yield builder.take();
  }

  /** One life of a capture worker: what it has not written down dies with it. */
  async capture(signal: AbortSignal): Promise<void> {
    const quietFrom = this.stretches.at(-1)?.coveredThrough ?? this.from;
    const quiet = quietFrom < this.covered ? { quiet: { from: quietFrom, through: this.covered } } : {};
    const { store, codec } = this.harness;
    const writer = new LogWriter({ store, codec, context: this.seal, nextSequence: this.keys.length, ...quiet });
    const batches = this.connected.capture.capture({
      from: this.covered,
      scope: wholeDatabase,
      batchIntervalMs,
      exactWithinMs: 2_000,
      signal,
      knownNames: (at) => this.knownNames(at),
      ...(this.position === undefined ? {} : { position: this.position }),
    });
    for await (const batch of batches) {
      const segment = await writer.append(batch);
      if (signal.aborted) return;
      if (segment) {
        this.keys.push(segment.key);
        this.stretches.push(segment);
      }
      this.covered = batch.coveredThrough;
      this.position = batch.position;
    }
  }

  truthAt(path: string, instant: Instant): string | null {
    return this.history.get(path)?.findLast(({ at }) => at <= instant)?.hex ?? null;
  }
}

export async function runPitrChaos(options: ChaosOptions): Promise<ChaosResult> {
  const chaos = new Chaos(options);
  const sandbox = await startFirestoreSandbox({ listenMode: options.mode, listenHeartbeatMs: 50 });
  const retry = { attemptsMax: 1000, delayBaseMs: 2, delayMaxMs: 30 };
  const connection = { type: 'emulator', host: sandbox.address } as const;
  chaos.connected = connectFirestore({ projectId: name.project, connection, retry });
  try {
    const database = sandbox.control.database(name);
    database.commitListeners.add((entries, micros) => {
      const at = instantOf(micros);
      for (const entry of entries) {
        const path = pathFromKey(entry.key);
        const hex = entry.newest!.length === 0 ? null : versionBytes(entry.newest!).toString('hex');
        const versions = chaos.history.get(path) ?? [];
        versions.push({ at, hex });
        chaos.history.set(path, versions);
      }
    });
    await begin(chaos);
    await live(chaos, {
      behave: (more) => sandbox.control.setListenMode(options.mode, more),
      moveClock: (ms) => sandbox.control.moveClock(name, ms),
    });
    return await judge(chaos);
  } finally {
    await chaos.connected.close();
    await sandbox.stop();
  }
}

async function begin(chaos: Chaos): Promise<void> {
  const { source } = chaos.connected;
  await write(
    chaos.connected,
    [...Array(100)].map((_, index) => ({ path: `c${index % 5}/${index}`, fields: fields(index) })),
  );
  const { store, keys, codec } = chaos.harness;
  chaos.from = await source.snapshotTime();
  await runBackup({ source, store, keys, codec, backupId: 'base', snapshotTime: chaos.from });
  const { database } = source;
  const log = { store, keys, logId: 'log', database, scope: wholeDatabase, createdAt: chaos.from, from: chaos.from };
  chaos.seal = await createLog(log);
  chaos.covered = chaos.from;
}

interface World {
  behave(more: Partial<ListenBehaviour>): void;
  moveClock(ms: number): void;
}

/** Writers write, and every so often the capture dies in the middle of whatever it does. */
async function live(chaos: Chaos, world: World): Promise<void> {
  const { writes, kills, log = () => undefined } = chaos.options;
  let done = 0;
  let life = new AbortController();
  let capturing = chaos.capture(life.signal).catch(ignoreCancelled);
  const restart = async (): Promise<void> => {
    life.abort();
    await capturing;
    chaos.kills += 1;
    if (chaos.kills % 12 === 0) {
      // A position that is too old: the database's clock runs ahead while nobody listens.
      world.moveClock(31 * 60_000);
      chaos.staleRestarts += 1;
    }
    world.behave(behaviours[chaos.kills % behaviours.length]!);
    life = new AbortController();
    capturing = chaos.capture(life.signal).catch(ignoreCancelled);
    // Every other life gets to follow live; the others die while they still catch up.
    if (chaos.kills % 2 === 1) await untilCovered(chaos, await chaos.connected.source.snapshotTime());
    log(`${done} writes, ${chaos.kills} kills, ${chaos.keys.length} segments`);
  };
  world.behave(behaviours[0]!);
  while (done < writes) {
    const records = randomWrites(done / writes, chaos);
    await write(chaos.connected, records);
    done += records.length;
    await sleep(Math.random() * 6);
    if (chaos.kills < kills && done > ((chaos.kills + 1) * writes) / (kills + 1)) await restart();
  }
  world.behave({});
  const end = await chaos.connected.source.snapshotTime();
  await write(chaos.connected, [{ path: 'c0/last', fields: fields(1) }]);
  await untilCovered(chaos, end);
  life.abort();
  await capturing;
}

async function untilCovered(chaos: Chaos, instant: Instant): Promise<void> {
  for (let waitedMs = 0; chaos.covered < instant; waitedMs += 20) {
    if (waitedMs > 120_000) throw new Error(`capture did not reach ${instant}: ${chaos.covered}`);
    await sleep(20);
  }
}

const behaviours: readonly Partial<ListenBehaviour>[] = [
  { cutAfterMs: [300, 2_000] },
  { cutAfterMs: [300, 2_000], existenceFilters: 'count' },
  { cutAfterMs: [300, 2_000], existenceFilters: 'none' },
  { catchUpDocumentsMax: 40 },
  { bufferDocumentsMax: 200, cutAfterMs: [500, 3_000] },
];

function ignoreCancelled(error: unknown): void {
  if ((error as { code?: string }).code !== 'CANCELLED') throw error;
}

/** Over thirty collections, the later ones appearing late; now and then one is emptied at once. */
function randomWrites(progress: number, chaos: Chaos): { path: string; fields?: ReturnType<typeof fields> }[] {
  const random = (below: number): number => Math.floor(Math.random() * below);
  const collections = 5 + Math.floor(progress * 25);
  if (random(150) === 0) {
    const emptied = `c${random(collections)}/`;
    const paths = [...chaos.history].filter(([path, versions]) => path.startsWith(emptied) && versions.at(-1)!.hex);
    if (paths.length > 0) return paths.slice(0, 400).map(([path]) => ({ path }));
  }
  const records = new Map<string, ReturnType<typeof fields> | undefined>();
  for (let count = 1 + random(12); count > 0; count -= 1) {
    const root = `c${random(collections)}/${random(40)}`;
    const path = random(4) === 0 ? `${root}/s${random(4)}/${random(5)}` : root;
    records.set(path, random(4) === 0 ? undefined : fields(random(1_000_000)));
  }
  return [...records].map(([path, values]) => (values === undefined ? { path } : { path, fields: values }));
}

async function judge(chaos: Chaos): Promise<ChaosResult> {
  const coverage = coverageOf(chaos.stretches);
  const { gaps } = coverage;
  const wrong: string[] = [];
  let compared = 0;
  let insideGaps = 0;
  let coalesced = 0;
  const commits = [...chaos.history.values()].flat().map(({ at }) => at);
  const reachable = commits.filter((at) => at >= chaos.from && at <= chaos.covered).sort();
  for (let count = 0; count < chaos.options.instants; count += 1) {
    const instant = reachable[Math.floor(Math.random() * reachable.length)]!;
    if (gaps.some(({ from, through }) => from < instant && instant < through)) {
      insideGaps += 1;
      continue;
    }
    compared += 1;
    const contents = await contentsOf(await chaos.viewAt(instant));
    const { before, after } = marksAround(instant, coverage);
    for (const path of new Set([...contents.keys(), ...chaos.history.keys()])) {
      if ((contents.get(path) ?? null) === chaos.truthAt(path, instant)) continue;
      const between = (chaos.history.get(path) ?? []).filter(
        ({ at }) => at > (before ?? chaos.from) && at <= (after ?? chaos.covered),
      );
      // Told by the marks: several versions between two of them, or a delete, whose time is an upper bound.
      if (before !== instant && (between.length > 1 || between.some(({ hex }) => hex === null))) coalesced += 1;
      else wrong.push(`${path} at ${instant}, marks ${before} and ${after}, ${between.length} changes between`);
    }
  }
  const end = { source: chaos.connected.source, view: await chaos.viewAt(chaos.covered), at: chaos.covered };
  const { differences } = await reconcile({ ...end, scope: wholeDatabase });
  return {
    writes: commits.length,
    kills: chaos.kills,
    staleRestarts: chaos.staleRestarts,
    segments: chaos.keys.length,
    gaps: gaps.length,
    compared,
    insideGaps,
    coalesced,
    wrong,
    differencesAtEnd: differences,
  };
}

function instantOf(micros: number): Instant {
  return instantFromParts(Math.floor(micros / 1e6), (micros % 1e6) * 1000);
}
