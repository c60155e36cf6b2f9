import { encodeDocument, type JsonFields } from '../format/document-json.ts';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { EngineError, isEngineError } from '../ports/errors.ts';
import { recordKind } from '../ports/record.ts';
import { DocumentPlace } from './document-place.ts';
import { type ByteSource, JsonReader } from './json-reader.ts';
import { Lines } from './lines.ts';
import { pathTo, shownName } from './names.ts';
import { ParsedJson } from './parsed-json.ts';
import { requireSize, timestampOfText } from './storable.ts';
import { readTypedFields } from './typed-json.ts';

const wholeName = /^(projects\/[^/]+\/databases\/[^/]+)\/documents\/(.+)$/s;

/** Whether a text is the full name of a document, as on every line. */
export function isWholeName(text: unknown): boolean {
  return typeof text === 'string' && wholeName.test(text);
}

/**
 * Reads what `exportLines` wrote: one document per line, `{name, fields, createTime, updateTime}` with typed values.
 * Every value and time comes back unchanged. All lines are of one database; documents, and references into that
 * database, are moved to the importing one. Errors name their line.
 */
export function* readExportedLines(
  source: ByteSource,
  key: string,
  database: string,
  onWarning: (text: string) => void,
): Generator<UnsortedRecord> {
  const lines = new Lines(source, key);
  let from: string | undefined;
  while (lines.begin()) {
    const json = new JsonReader(lines.bytes, lines.name);
    if (json.isAtEnd) continue;
    const line = ofLine(lines.name, () => readLine(json, database));
    from ??= line.from;
    if (line.from !== from) throw invalid(`${lines.name} is of ${line.from}, the lines before it are of ${from}.`);
    if (lines.isCut) onWarning(`${lines.name} is the last one and has no end: the file may be cut short.`);
    yield line.record;
  }
}

interface ReadLine {
  /** The database that was exported. */
  readonly from: string;
  readonly record: UnsortedRecord;
}

function readLine(json: JsonReader, database: string): ReadLine {
  if (!json.isObject) throw invalid('It is no object, and so no document.');
  let origin: Origin | undefined;
  let fields: JsonFields | undefined;
  const held = new Map<string, unknown>();
  for (const key of json.keys()) {
    if (held.has(key)) throw invalid(`${shownName(key)} stands in it twice.`);
    if (key === 'fields' && origin) {
      held.set(key, undefined);
      fields = readTypedFields(json, { ...origin, database });
    } else if (!keys.has(key))
      throw invalid(`It has ${shownName(key)} beside name, fields, createTime and updateTime.`);
    else held.set(key, json.value());
    if (key === 'name') origin = originOf(held.get(key));
  }
  json.finish();
  if (!origin) throw invalid('It has no name.');
  if (!held.has('fields')) throw invalid('It has no fields.');
  const { from, place } = origin;
  // Other tools may reorder the keys. In our order the name comes first, and nothing has to be kept in memory.
  fields ??= readTypedFields(new ParsedJson(held.get('fields')), { ...origin, database });
  requireSize(fields, place);
  const times = { ...timeOf(held, 'createTime', place), ...timeOf(held, 'updateTime', place) };
  const body = encodeDocument({ name: `${database}/documents/${place.path}`, fields, ...times });
  return { from, record: { kind: recordKind.put, path: place.path, body } };
}

const keys: ReadonlySet<string> = new Set(['name', 'fields', 'createTime', 'updateTime']);

interface Origin {
  readonly from: string;
  readonly place: DocumentPlace;
}

function originOf(name: unknown): Origin {
  const [, from, rest] = (typeof name === 'string' && wholeName.exec(name)) || [];
  const segments = rest?.split('/') ?? [];
  if (from === undefined || segments.length % 2 !== 0) throw invalid('Its name is not the whole name of a document.');
  return { from, place: new DocumentPlace(segments.reduce(pathTo, '')) };
}

function timeOf(held: ReadonlyMap<string, unknown>, key: string, place: DocumentPlace): Record<string, string> {
  if (!held.has(key)) return {};
  return { [key]: place.inField(key, () => timestampOfText(held.get(key), place)) };
}

/** Errors name the line, and the document if it is known. */
function ofLine<T>(line: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isEngineError(error) || error.message.startsWith(line)) throw error;
    throw new EngineError(error.code, `${line}: ${error.message}`, { cause: error });
  }
}

const invalid = (message: string) => new EngineError('VALIDATION_ERROR', message);
