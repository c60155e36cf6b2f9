import { invalid, RpcError } from '../transport/status.ts';
import { type FieldPath, isNamePath, parseFieldPath } from '../values/field-path.ts';
import { documentEntry, encodeFields, getField, parseFields, setField, splitDocument } from '../values/fields.ts';
import { databaseRoot, parseDocumentName, type ResourceName } from '../values/name.ts';
import { isoFrom, type Micros, microsFrom, type TimestampMessage, timestampFrom } from '../values/timestamp.ts';
import { checkDocumentSize, checkFields } from '../values/validate.ts';
import type { Database } from './database.ts';
import { type DocumentEntry, versionBytes } from './document.ts';
import { applyTransform, type FieldTransformMessage } from './transforms.ts';

export interface PreconditionMessage {
  conditionType?: 'exists' | 'updateTime';
  exists?: boolean;
  updateTime?: TimestampMessage;
}

/** google.firestore.v1.Write as decoded, with the document left as bytes. */
export interface WriteMessage {
  operation?: 'update' | 'delete' | 'transform';
  update?: Uint8Array;
  delete?: string;
  transform?: { document: string; fieldTransforms: FieldTransformMessage[] };
  updateMask?: { fieldPaths: string[] } | null;
  updateTransforms?: FieldTransformMessage[];
  currentDocument?: PreconditionMessage | null;
}

export interface WriteResultMessage {
  updateTime?: { seconds: number; nanos: number };
  transformResults?: Uint8Array[];
}

interface DocumentState {
  readonly name: string;
  readonly fields: Uint8Array | null;
  readonly createTime: Micros;
  readonly updateTime: Micros;
}

const noFields = new Uint8Array(0);

/** A write whose document is known: its name parsed and, for an update, its field entries found. */
export interface PreparedWrite {
  readonly message: WriteMessage;
  readonly fullName: string;
  readonly name: ResourceName;
  readonly fields: Uint8Array;
}

export function prepareWrite(database: Database, message: WriteMessage): PreparedWrite {
  const { name: fullName, fields } = targetOf(message);
  const name = parseDocumentName(fullName);
  if (name.project !== database.name.project || name.database !== database.name.database) {
    throw invalid(`Document "${fullName}" is not in database "${databaseRoot(database.name)}".`);
  }
  return { message, fullName, name, fields };
}

function targetOf(message: WriteMessage): { name: string; fields: Uint8Array } {
  if (message.operation === 'update') return splitDocument(message.update!);
  if (message.operation === 'delete') return { name: message.delete!, fields: noFields };
  if (message.operation === 'transform') return { name: message.transform!.document, fields: noFields };
  throw invalid('A write names no operation.');
}

/**
 * Writes that become visible together. They are staged one after the other, each seeing the ones before it; nothing
 * is in the database until `install`.
 */
export class WriteBatch {
  readonly #database: Database;
  readonly #time: Micros;
  readonly #staged = new Map<string, DocumentState>();

  constructor(database: Database, time: Micros) {
    this.#database = database;
    this.#time = time;
  }

  stage(write: PreparedWrite): WriteResultMessage {
    const { name, message } = write;
    const before = this.#stateOf(write);
    checkPrecondition(message.currentDocument ?? null, before);
    if (message.operation === 'delete') {
      this.#staged.set(name.key, { ...before, fields: null, updateTime: this.#time });
      return {};
    }
    const { fields, results } = this.#changed(write, before);
    const size = checkFields(fields, this.#database.unindexedFields);
    checkDocumentSize(before.name, name.segments, size);
    return { updateTime: this.#keep(name.key, before, fields), transformResults: results };
  }

  /** Puts the staged writes into the database and returns the documents that changed. */
  install(): DocumentEntry[] {
    const changed: DocumentEntry[] = [];
    for (const [key, state] of this.#staged) {
      const entry =
        state.fields === null
          ? this.#database.remove(key, this.#time)
          : this.#database.put(key, Buffer.from(state.name), state.fields, state.createTime, state.updateTime);
      if (entry !== undefined) changed.push(entry);
    }
    return changed;
  }

  #keep(key: string, before: DocumentState, fields: Uint8Array): { seconds: number; nanos: number } {
    // A write that changes nothing keeps the update time, as in production.
    if (before.fields !== null && Buffer.compare(before.fields, fields) === 0) return timestampFrom(before.updateTime);
    const createTime = before.fields === null ? this.#time : before.createTime;
    this.#staged.set(key, { name: before.name, fields, createTime, updateTime: this.#time });
    return timestampFrom(this.#time);
  }

  #changed(write: PreparedWrite, before: DocumentState): { fields: Uint8Array; results: Uint8Array[] } {
    const { message } = write;
    const isTransform = message.operation === 'transform';
    const transforms = isTransform ? message.transform!.fieldTransforms : (message.updateTransforms ?? []);
    const base = isTransform ? (before.fields ?? noFields) : updated(write, before, this.#database.unindexedFields);
    if (transforms.length === 0) return { fields: base, results: [] };
    const fields = parseFields(base, documentEntry);
    const results = transforms.map((transform) => applyTransform(fields, transform, this.#time));
    return { fields: encodeFields(fields, documentEntry), results };
  }

  #stateOf({ name, fullName }: PreparedWrite): DocumentState {
    const staged = this.#staged.get(name.key);
    if (staged !== undefined) return staged;
    const newest = this.#database.entry(name.key)?.newest ?? null;
    if (newest === null || newest.length === 0) return { name: fullName, fields: null, createTime: 0, updateTime: 0 };
    const { fields } = splitDocument(versionBytes(newest));
    return { name: fullName, fields, createTime: newest.createTime, updateTime: newest.updateTime };
  }
}

/** The fields after an update: all of the document's, or only those its mask names. */
function updated(
  { message, fields }: PreparedWrite,
  before: DocumentState,
  unindexed: ReadonlySet<string>,
): Uint8Array {
  if (message.updateMask === null || message.updateMask === undefined) return fields;
  const paths = message.updateMask.fieldPaths.map(parseFieldPath);
  checkMask(paths);
  checkFields(fields, unindexed);
  if (paths.length === 0) return before.fields ?? noFields;
  const given = parseFields(fields, documentEntry);
  const result = parseFields(before.fields ?? noFields, documentEntry);
  for (const path of paths) setField(result, path, getField(given, path));
  return encodeFields(result, documentEntry);
}

function checkMask(paths: readonly FieldPath[]): void {
  if (paths.some(isNamePath)) throw invalid('The update mask may not name __name__.');
  const sorted = paths.map((path) => path.join('\u0000')).sort();
  for (let index = 1; index < sorted.length; index++) {
    const [shorter, longer] = [sorted[index - 1]!, sorted[index]!];
    if (longer === shorter) throw invalid('The update mask names a field twice.');
    if (longer.startsWith(`${shorter}\u0000`)) throw invalid('The update mask names a field and one of its parents.');
  }
}

function checkPrecondition(precondition: PreconditionMessage | null, before: DocumentState): void {
  const exists = before.fields !== null;
  if (precondition?.conditionType === 'exists') {
    if (precondition.exists && !exists) throw new RpcError('NOT_FOUND', `No document to update: ${before.name}`);
    if (!precondition.exists && exists) throw new RpcError('ALREADY_EXISTS', `Document already exists: ${before.name}`);
  } else if (precondition?.conditionType === 'updateTime') {
    const required = microsFrom(precondition.updateTime!);
    if (exists && before.updateTime === required) return;
    throw new RpcError(
      'FAILED_PRECONDITION',
      exists
        ? `The stored version (${isoFrom(before.updateTime)}) does not match the required base version (${isoFrom(required)})`
        : `No document to update: ${before.name}`,
    );
  }
}
