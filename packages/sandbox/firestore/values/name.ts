import { invalid } from '../transport/status.ts';
import { isNumericId, keyFromPath } from './key.ts';

const idBytesMax = 1500;
const nameBytesMax = 6 * 1024;
const depthMax = 100;
const databaseName = /^projects\/([^/]+)\/databases\/([^/]+)$/;

export interface DatabaseName {
  readonly project: string;
  readonly database: string;
}

/** A place below a database's `documents`: the root, a document or a collection. `path` is relative, '' is the root. */
export interface ResourceName extends DatabaseName {
  readonly path: string;
  readonly segments: readonly string[];
  readonly key: string;
}

export function databaseRoot(name: DatabaseName): string {
  return `projects/${name.project}/databases/${name.database}`;
}

export function documentsRoot(name: DatabaseName): string {
  return `${databaseRoot(name)}/documents`;
}

export function parseDatabaseName(text: string): DatabaseName {
  const match = databaseName.exec(text);
  if (match === null) throw invalid(`Invalid database name: "${text}". Expected "projects/{p}/databases/{d}".`);
  return { project: match[1]!, database: match[2]! };
}

/** Splits a full resource name and checks every id in it. */
function parseResourceName(text: string): ResourceName {
  const parts = text.split('/');
  if (parts.length < 5 || parts[0] !== 'projects' || parts[2] !== 'databases' || parts[4] !== 'documents') {
    throw invalid(`Document name "${text}" lacks "projects/{p}/databases/{d}/documents" at index 0.`);
  }
  if (parts[1] === '' || parts[3] === '') throw invalid(`Document name "${text}" has an empty project or database.`);
  if (text.length > nameBytesMax / 3 && Buffer.byteLength(text) > nameBytesMax) {
    throw invalid(`The key path is longer than the maximum of ${nameBytesMax} bytes.`);
  }
  const segments = parts.slice(5);
  if (segments.length > 2 * depthMax) throw invalid(`The key path exceeds the maximum depth of ${depthMax}.`);
  for (const segment of segments) checkId(segment, text);
  const path = segments.join('/');
  return { project: parts[1]!, database: parts[3]!, path, segments, key: keyFromPath(path) };
}

export function parseDocumentName(text: string): ResourceName {
  const name = parseResourceName(text);
  if (name.segments.length === 0 || name.segments.length % 2 !== 0) {
    throw invalid(`Document name "${text}" has an odd number of path segments or none: it names no document.`);
  }
  return name;
}

/** The parent of a collection: the database's documents root or a document. */
export function parseParentName(text: string): ResourceName {
  const name = parseResourceName(text);
  if (name.segments.length % 2 !== 0) throw invalid(`Parent name "${text}" must be a document or the documents root.`);
  return name;
}

/** Ids: not empty, no `/`, not `.` or `..`, at most 1500 bytes, `__.*__` reserved except for numeric ids. */
export function checkId(id: string, inName: string): void {
  if (id === '') throw invalid(`Document name "${inName}" has an empty segment.`);
  if (id === '.' || id === '..') throw invalid(`Resource id "${id}" is invalid because it is "." or "..".`);
  if (id.length > idBytesMax / 3 && Buffer.byteLength(id) > idBytesMax) {
    throw invalid(`Resource id is longer than ${idBytesMax} bytes.`);
  }
  if (id.includes('/')) throw invalid(`Resource id "${id}" is invalid because it contains "/".`);
  if (id.startsWith('__') && id.endsWith('__') && id.length >= 4 && !isNumericId(id)) {
    throw invalid(`Resource id "${id}" is invalid because it is reserved.`);
  }
}

export function checkCollectionId(id: string): void {
  checkId(id, id);
  if (isNumericId(id)) throw invalid(`Collection id "${id}" is invalid because it is reserved.`);
}
