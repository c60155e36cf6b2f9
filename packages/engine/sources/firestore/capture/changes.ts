/** Changes that were received and not yet yielded. */

import { encodeDeletedDocument } from '../../../ports/deleted-document.ts';
import {
  comparePaths,
  emptyOutline,
  type Instant,
  instantFromParts,
  outlineDocument,
  pathOfName,
  type RecordBatch,
  type RecordKind,
  recordKind,
} from '../../../ports/index.ts';
import { MalformedMessage } from '../../../ports/wire.ts';
import { DocumentBatchBuilder, nameOfDocument } from '../scan/document-batch-builder.ts';

export interface Change {
  readonly kind: RecordKind;
  readonly path: string;
  /** The update time of a put; for a delete, when the document was seen to be missing. */
  readonly at: Instant;
  /** When the document was created; empty for a delete. */
  readonly createdAt: Instant;
  readonly body: Buffer;
}

export function putChange(body: Buffer): Change {
  const outline = emptyOutline();
  if (!outlineDocument(body, 0, body.length, outline)) throw new MalformedMessage();
  return {
    kind: recordKind.put,
    path: pathOfName(nameOfDocument(body, 0, body.length)),
    at: instantFromParts(outline.updateSeconds, outline.updateNanos),
    createdAt: instantFromParts(outline.createSeconds, outline.createNanos),
    body,
  };
}

export function deleteChange(name: string, at: Instant): Change {
  return { kind: recordKind.delete, path: pathOfName(name), at, createdAt: '', body: encodeDeletedDocument(name, at) };
}

export class PendingChanges {
  #changes: Change[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#changes.length;
  }

  add(change: Change): void {
    this.#changes.push(change);
    this.#bytes += change.body.length;
  }

  /** What was committed up to an instant, in order of commit. */
  peekThrough(instant: Instant): Change[] {
    return inCommitOrder(this.#changes.filter((change) => change.at <= instant));
  }

  /** Replaces the deletes of its path that have a later time. */
  moveDelete(change: Change): void {
    const isSame = ({ kind, path, at }: Change) => kind === change.kind && path === change.path && at > change.at;
    this.#changes = this.#changes.filter((other) => !isSame(other));
    this.#changes.push(change);
  }

  after(instant: Instant): Change[] {
    return this.#changes.filter((change) => change.at > instant);
  }

  dropThrough(instant: Instant): void {
    this.#changes = this.#changes.filter((change) => change.at > instant);
    this.#bytes = this.#changes.reduce((sum, change) => sum + change.body.length, 0);
  }
}

/** Sorts changes by commit. A document that several listeners report is kept once. */
export function inCommitOrder(changes: readonly Change[]): Change[] {
  const sorted = [...changes].sort((left, right) => {
    if (left.at !== right.at) return left.at < right.at ? -1 : 1;
    return comparePaths(left.path, right.path);
  });
  return sorted.filter((change, index) => {
    const previous = sorted[index - 1];
    return previous === undefined || previous.at !== change.at || previous.path !== change.path;
  });
}

/**
 * Splits changes, in commit order, into pieces of about `bytesMax`, each complete up to its `through`. Changes of one
 * time stay together, and so do changes before `covered` (a collection found late) with what follows them. Pieces end
 * at marks if there are some: only from a mark can capture resume without reading every name.
 */
export function piecesOf(
  changes: readonly Change[],
  marks: readonly Instant[],
  { covered, through, bytesMax }: { covered: Instant; through: Instant; bytesMax: number },
): { changes: Change[]; through: Instant }[] {
  const pieces: { changes: Change[]; through: Instant }[] = [];
  let current: Change[] = [];
  let bytes = 0;
  /** Of the ascending marks. */
  let passed = 0;
  let atMark: { count: number; mark: Instant } | undefined;
  for (const [index, change] of changes.entries()) {
    current.push(change);
    bytes += change.body.length;
    const next = changes[index + 1];
    if (next === undefined || next.at === change.at || change.at <= covered) continue;
    while (passed < marks.length && marks[passed]! < next.at) passed += 1;
    const mark = marks[passed - 1];
    if (mark !== undefined && mark >= change.at) atMark = { count: current.length, mark };
    if (bytes < bytesMax) continue;
    const { count, mark: end } = atMark ?? { count: current.length, mark: change.at };
    pieces.push({ changes: current.slice(0, count), through: end });
    current = current.slice(count);
    bytes = current.reduce((sum, { body }) => sum + body.length, 0);
    atMark = undefined;
  }
  pieces.push({ changes: current, through });
  return pieces;
}

export function encodeChanges(changes: readonly Change[]): RecordBatch | null {
  if (changes.length === 0) return null;
  const builder = new DocumentBatchBuilder(changes.reduce((sum, change) => sum + change.body.length + 5, 0));
  for (const change of changes) builder.append(change.kind, change.body, 0, change.body.length);
  return builder.take()!;
}
