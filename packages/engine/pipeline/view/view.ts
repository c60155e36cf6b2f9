import type { ManifestBody } from '../../format/manifest-body.ts';
import { documentsScope } from '../../ports/document-source.ts';
import { type Instant, instantFromParts } from '../../ports/instant.ts';
import { type RecordBatch, recordHeaderBytes } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import { type Layer, loadSegment } from './layer.ts';
import { mergeLayers, type Run } from './merge-layers.ts';
import { lowerBound, type Selection, selectsEverything, wholeView } from './selection.ts';

/** One line of a listing. */
export interface ViewEntry {
  readonly path: string;
  readonly updateSeconds: number;
  readonly updateNanos: number;
  /** Bytes of the document. */
  readonly size: number;
}

export function updateTimeOf(entry: ViewEntry): Instant {
  return instantFromParts(entry.updateSeconds, entry.updateNanos);
}

export interface ViewReadOptions {
  readonly signal?: AbortSignal;
  /**
   * Called from time to time with the path up to which everything was examined. The read ends when it returns false.
   */
  readonly goesOn?: (lastPath: string) => boolean;
}

/**
 * A database as it was at one instant: the merge of layers, oldest first. Everything that reads backups reads a view.
 * Memory is bounded by two segments per layer, whatever the size of the database.
 */
export class View {
  readonly database: string;
  readonly layers: readonly Layer[];
  /** The manifest of the newest backup, when the view ends at one. */
  readonly body: ManifestBody | undefined;

  constructor(database: string, layers: readonly Layer[], body?: ManifestBody) {
    this.database = database;
    this.layers = layers;
    this.body = body;
  }

  /** All selected documents as puts, ascending by path. */
  async *records(
    selection: Selection = wholeView,
    { signal, goesOn }: ViewReadOptions = {},
  ): AsyncGenerator<RecordBatch> {
    const builder = new RecordBatchBuilder();
    const runs = mergeLayers(this.layers, selection, { namesOnly: false, includeDeletes: false, signal, goesOn });
    for await (const run of runs) {
      const isWhole = run.to - run.from === run.segment.entries.count;
      if (isWhole && selectsEverything(selection)) {
        if (!builder.isEmpty) yield builder.take();
        yield* piecesOf(run);
        continue;
      }
      for (const part of smallParts(run)) {
        addRun(builder, part);
        if (builder.isFull) yield builder.take();
      }
    }
    if (!builder.isEmpty) yield builder.take();
  }

  /** Paths, update times and sizes without reading the documents. */
  async *entries(
    selection: Selection = wholeView,
    { signal, goesOn }: ViewReadOptions = {},
  ): AsyncGenerator<readonly ViewEntry[]> {
    const runs = mergeLayers(this.layers, selection, { namesOnly: true, includeDeletes: false, signal, goesOn });
    for await (const { segment, from, to } of runs) {
      const { paths, updateSeconds, updateNanos, offsets } = segment.entries;
      const page: ViewEntry[] = [];
      for (let index = from; index < to; index += 1) {
        const size = offsets[index + 1]! - offsets[index]! - recordHeaderBytes;
        page.push({
          path: paths[index]!,
          updateSeconds: updateSeconds[index]!,
          updateNanos: updateNanos[index]!,
          size,
        });
      }
      yield page;
    }
  }

  /** How many documents there are, by names alone. */
  async count({ signal }: ViewReadOptions = {}): Promise<number> {
    let documents = 0;
    const runs = mergeLayers(this.layers, wholeView, { namesOnly: true, includeDeletes: false, signal });
    for await (const { from, to } of runs) documents += to - from;
    return documents;
  }

  /** The state of a document in the newest layer that contains it; undefined when no layer does. Reads only names. */
  async stateOf(
    path: string,
    { signal }: ViewReadOptions = {},
  ): Promise<{ readonly isDeleted: boolean; readonly updateTime: Instant } | undefined> {
    for (const layer of this.layers.toReversed()) {
      for await (const descriptor of layer.descriptors({ range: { start: path, end: `${path}/` } })) {
        const { entries } = await loadSegment(layer, descriptor, true, signal);
        const index = lowerBound(entries.paths, 0, path);
        if (entries.paths[index] !== path) continue;
        const updateTime = instantFromParts(entries.updateSeconds[index]!, entries.updateNanos[index]!);
        return { isDeleted: entries.isDelete[index] === 1, updateTime };
      }
    }
    return undefined;
  }

  /** One document's bytes: from each layer, newest first, at most one segment is read. */
  async get(path: string, { signal }: ViewReadOptions = {}): Promise<Uint8Array | undefined> {
    for (const layer of this.layers.toReversed()) {
      for await (const descriptor of layer.descriptors({ range: { start: path, end: `${path}/` } })) {
        const { entries, data } = await loadSegment(layer, descriptor, false, signal);
        const index = lowerBound(entries.paths, 0, path);
        if (entries.paths[index] !== path) continue;
        if (entries.isDelete[index] === 1) return undefined;
        return data!.slice(entries.offsets[index]! + recordHeaderBytes, entries.offsets[index + 1]);
      }
    }
    return undefined;
  }

  /** The bytes of those documents that exist. A segment that holds several of them is read once. */
  async getAll(paths: readonly string[], options: ViewReadOptions = {}): Promise<Map<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    for await (const batch of this.records({ scope: documentsScope(paths) }, options))
      for (const { path, body } of readRecords(batch, this.database)) found.set(path, new Uint8Array(body));
    return found;
  }
}

const pieceBytes = 1024 * 1024;

/**
 * A whole segment as batches that share its memory: small enough for readers that examine every record, and without
 * copying.
 */
function* piecesOf({ segment }: Run): Generator<RecordBatch> {
  const { offsets, paths, count } = segment.entries;
  let from = 0;
  for (let to = 1; to <= count; to += 1) {
    if (to < count && offsets[to]! - offsets[from]! < pieceBytes) continue;
    const bytes = segment.data!.subarray(offsets[from]!, offsets[to]!);
    yield { bytes, count: to - from, firstPath: paths[from]!, lastPath: paths[to - 1]! };
    from = to;
  }
}

const partRecords = 256;

/** Batches stay near their target size although a run may be a whole segment. */
function* smallParts({ segment, from, to }: Run): Generator<Run> {
  for (let start = from; start < to; start += partRecords)
    yield { segment, from: start, to: Math.min(to, start + partRecords) };
}

function addRun(builder: RecordBatchBuilder, { segment, from, to }: Run): void {
  const { paths, offsets } = segment.entries;
  builder.addEncoded(segment.data!.subarray(offsets[from]!, offsets[to]!), to - from, paths[from]!, paths[to - 1]!);
}
