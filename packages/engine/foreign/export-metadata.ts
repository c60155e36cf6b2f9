import { ProtobufReader } from '../format/protobuf.ts';
import type { BlobInfo, BlobStore, CallOptions } from '../ports/blob-store.ts';
import { EngineError, isEngineError } from '../ports/errors.ts';
import { readLogRecords } from './leveldb-log.ts';
import { textOf, wireFields } from './wire-fields.ts';

/** What an export says about one of its parts: the requested collections, or all of them. */
export interface ExportPart {
  /** The file that names the part's output files. */
  readonly metadataKey: string;
  /** Undefined when the export does not say. */
  readonly documents: number | undefined;
}

/**
 * The parts named in an export's overall metadata: a log whose records are messages {part = 1 {path = 2, documents = 3,
 * bytes = 4}}. Exports of some other programs name none.
 */
export async function readParts(
  store: BlobStore,
  { key, size }: BlobInfo,
  options: CallOptions = {},
): Promise<ExportPart[]> {
  const folder = folderOf(key);
  const parts: ExportPart[] = [];
  let records = 0;
  for await (const record of readLogRecords(store, key, size, options)) {
    if (record.length > 0) records += 1;
    if (Buffer.from(record).includes(metadataSuffix)) parts.push(...whole(key, () => partsOf(record, folder)));
  }
  if (records === 0) throw new EngineError('INTEGRITY_ERROR', `The export file ${key} is empty.`);
  return parts;
}

export const metadataSuffix = '.export_metadata';

function partsOf(record: Uint8Array, folder: string): ExportPart[] {
  const parts: ExportPart[] = [];
  for (const { number, inside } of wireFields(new ProtobufReader(record))) {
    if (number !== 1) continue;
    let path = '';
    let documents: number | undefined;
    for (const field of wireFields(inside)) {
      if (field.number === 2) path = textOf(field.inside);
      else if (field.number === 3) documents = Number(field.varint);
    }
    // Emulators on Windows write backslashes.
    if (path !== '') parts.push({ metadataKey: `${folder}${path.replaceAll('\\', '/')}`, documents });
  }
  return parts;
}

const outputName = /^output-\d{1,20}$/;
const outputNames = /output-\d{1,20}/g;

/** The output files that a part's metadata names: one message {times = 1, output = 2 {name = 2}}, or a log of names. */
export async function* readOutputNames(
  store: BlobStore,
  { key, size }: BlobInfo,
  options: CallOptions = {},
): AsyncGenerator<string> {
  const folder = folderOf(key);
  const names = (await namesOfMessage(store, key, size, options)) ?? namesOfLog(store, key, size, options);
  for await (const name of names) yield `${folder}${name}`;
}

/** Undefined when the file is not such a message. */
async function namesOfMessage(
  store: BlobStore,
  key: string,
  size: number,
  options: CallOptions,
): Promise<string[] | undefined> {
  if (size === 0) return undefined;
  const reader = new ProtobufReader(await store.getRange(key, 0, size, options));
  const names: string[] = [];
  try {
    for (const { number, inside } of wireFields(reader)) {
      if (number !== 2) continue;
      for (const field of wireFields(inside)) if (field.number === 2) names.push(textOf(field.inside));
    }
  } catch (error) {
    if (isEngineError(error)) return undefined;
    throw error;
  }
  return names.length > 0 && names.every((name) => outputName.test(name)) ? names : undefined;
}

async function* namesOfLog(store: BlobStore, key: string, size: number, options: CallOptions): AsyncGenerator<string> {
  for await (const record of readLogRecords(store, key, size, options))
    for (const [name] of Buffer.from(record).toString('latin1').matchAll(outputNames)) yield name;
}

function whole<T>(key: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isEngineError(error)) throw error;
    throw new EngineError('INTEGRITY_ERROR', `The export file ${key} is damaged or cut short.`, { cause: error });
  }
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1);
}
