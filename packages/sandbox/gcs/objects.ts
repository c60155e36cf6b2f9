import { parseRange } from '../objects/http-range.ts';
import { compareUtf8 } from '../objects/sorted-map.ts';
import { type Call, integerParameter, type Operation, type Reply, readJson } from './call.ts';
import { GcsError, notImplemented } from './errors.ts';
import type { StoredObject } from './model.ts';
import { checkGeneration, checkPreconditions, preconditions } from './preconditions.ts';
import { checkReplaceable, checkRetentionChange } from './protection.ts';
import { etagOf, objectResource } from './resources.ts';
import { readObjectSettings } from './settings.ts';
import type { Bucket } from './state.ts';

const pageMax = 1000;

function findObject(call: Call): StoredObject {
  const [bucketName, name] = call.names as [string, string];
  const generation = integerParameter(call.query, 'generation');
  const former = generation === undefined ? undefined : call.state.version(bucketName, name, generation);
  if (former) return former;
  const object = call.state.object(bucketName, name);
  checkGeneration(call.query, object, bucketName);
  return object;
}

async function getObject(call: Call): Promise<Reply> {
  const alt = call.query.get('alt') ?? 'json';
  const object = findObject(call);
  checkPreconditions(call.query, object, 'read');
  if (alt === 'media') return downloadObject(call, object);
  if (alt !== 'json') throw new GcsError('invalid', `Invalid value for alt: ${alt}`);
  return { status: 200, json: objectResource(object, call.state.bucket(call.names[0]!).settings, call.baseUrl) };
}

function downloadObject(call: Call, object: StoredObject): Reply {
  const { contentEncoding } = object.settings;
  if (contentEncoding !== undefined && !(call.headers['accept-encoding'] ?? '').includes(contentEncoding))
    throw notImplemented(`Decoding ${contentEncoding} on the way out`);
  if (call.headers.range?.includes(',')) throw notImplemented('More than one range');
  const range = parseRange(call.headers.range, object.size);
  if (range === 'unsatisfiable')
    throw new GcsError('requestedRangeNotSatisfiable', 'The requested range cannot be satisfied.', {
      'content-range': `bytes */${object.size}`,
    });
  const hashes = [`crc32c=${object.crc32c}`, ...(object.md5 === undefined ? [] : [`md5=${object.md5}`])];
  return {
    status: range ? 206 : 200,
    headers: {
      'content-type': object.settings.contentType ?? 'application/octet-stream',
      ...(contentEncoding !== undefined && { 'content-encoding': contentEncoding }),
      etag: etagOf(object),
      'last-modified': new Date(object.updatedAtMs).toUTCString(),
      'accept-ranges': 'bytes',
      'x-goog-generation': String(object.generation),
      'x-goog-metageneration': String(object.metageneration),
      'x-goog-hash': hashes.join(','),
      'x-goog-storage-class': 'STANDARD',
      'x-goog-stored-content-encoding': contentEncoding ?? 'identity',
      'x-goog-stored-content-length': String(object.size),
      ...(range && { 'content-range': `bytes ${range.start}-${range.end - 1}/${object.size}` }),
    },
    bytes: { pieces: object.pieces, ...(range ?? { start: 0, end: object.size }) },
  };
}

async function patchObject(call: Call): Promise<Reply> {
  const resource = await readJson(call.request as AsyncIterable<Buffer>);
  const { state, query } = call;
  const bucket = state.bucket(call.names[0]!);
  const object = findObject(call);
  checkPreconditions(query, object, 'write');
  const settings = readObjectSettings(resource, bucket.settings, state.now(), object.settings);
  checkRetentionChange(
    object.settings.retention,
    settings.retention,
    query.get('overrideUnlockedRetention') === 'true',
    state.now(),
  );
  const patched = { ...object, settings, metageneration: object.metageneration + 1, updatedAtMs: state.now() };
  await state.saveObject(bucket, patched);
  return { status: 200, json: objectResource(patched, bucket.settings, call.baseUrl) };
}

async function deleteObject(call: Call): Promise<Reply> {
  const bucket = call.state.bucket(call.names[0]!);
  const object = findObject(call);
  checkPreconditions(call.query, object, 'write');
  checkReplaceable(object, bucket.settings, call.state.now());
  await call.state.removeObject(bucket, object, call.query.has('generation'));
  return { status: 204 };
}

interface Cursor {
  last: string;
  isPrefix: boolean;
  generation: number;
}

function readToken(token: string | undefined): Cursor | undefined {
  if (token === undefined || token === '') return undefined;
  try {
    const [last, isPrefix, generation] = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
    if (typeof last === 'string' && typeof isPrefix === 'boolean' && typeof generation === 'number')
      return { last, isPrefix, generation };
  } catch {}
  throw new GcsError('invalid', 'Invalid page token.');
}

/** By name and then by generation: the live version of a name comes last. */
function* versionsFrom(bucket: Bucket, from: string): Generator<[string, StoredObject]> {
  const names = new Set(
    [...bucket.objects.entriesFrom(from), ...bucket.former.entriesFrom(from)].map(([name]) => name),
  );
  for (const name of [...names].sort(compareUtf8)) {
    for (const former of bucket.former.get(name) ?? []) yield [name, former];
    const live = bucket.objects.get(name);
    if (live) yield [name, live];
  }
}

async function listObjects(call: Call): Promise<Reply> {
  const { query } = call;
  const bucket = call.state.bucket(call.names[0]!);
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const endOffset = query.get('endOffset');
  const max = Math.min(integerParameter(query, 'maxResults') ?? pageMax, pageMax);
  if (max < 1) throw new GcsError('invalid', 'maxResults must be positive.');
  let cursor = readToken(query.get('pageToken'));
  const from = [prefix, query.get('startOffset') ?? '', cursor?.last ?? ''].sort(compareUtf8).at(-1)!;
  const items: unknown[] = [];
  const prefixes: string[] = [];
  let isTruncated = false;
  const isOfAll = query.get('versions') === 'true';
  for (const [name, object] of isOfAll ? versionsFrom(bucket, from) : bucket.objects.entriesFrom(from)) {
    if (!name.startsWith(prefix) || (endOffset !== undefined && compareUtf8(name, endOffset) >= 0)) break;
    const isDone = name === cursor?.last && (!isOfAll || object.generation <= cursor.generation);
    if (cursor && (isDone || (cursor.isPrefix && name.startsWith(cursor.last)))) continue;
    if (items.length + prefixes.length >= max) {
      isTruncated = true;
      break;
    }
    const fold = delimiter === '' ? -1 : name.indexOf(delimiter, prefix.length);
    if (fold === -1) items.push(objectResource(object, bucket.settings, call.baseUrl));
    else prefixes.push(name.slice(0, fold + delimiter.length));
    const { generation } = object;
    cursor =
      fold === -1
        ? { last: name, isPrefix: false, generation }
        : { last: prefixes.at(-1)!, isPrefix: true, generation };
  }
  const token =
    isTruncated && cursor
      ? Buffer.from(JSON.stringify([cursor.last, cursor.isPrefix, cursor.generation])).toString('base64url')
      : undefined;
  return {
    status: 200,
    json: {
      kind: 'storage#objects',
      ...(token !== undefined && { nextPageToken: token }),
      ...(prefixes.length > 0 && { prefixes }),
      ...(items.length > 0 && { items }),
    },
  };
}

const object = '/storage/v1/b/*/o/*';
const readQuery = ['generation', ...preconditions];

export const objectOperations: Operation[] = [
  {
    name: 'ListObjects',
    method: 'GET',
    path: '/storage/v1/b/*/o',
    query: ['prefix', 'delimiter', 'maxResults', 'pageToken', 'startOffset', 'endOffset', 'versions'],
    writes: false,
    run: listObjects,
  },
  { name: 'GetObject', method: 'GET', path: object, query: readQuery, writes: false, run: getObject },
  {
    name: 'DownloadObject',
    method: 'GET',
    path: '/download/storage/v1/b/*/o/*',
    query: readQuery,
    writes: false,
    run: getObject,
  },
  {
    name: 'PatchObject',
    method: 'PATCH',
    path: object,
    query: [...readQuery, 'overrideUnlockedRetention'],
    writes: true,
    run: patchObject,
  },
  { name: 'DeleteObject', method: 'DELETE', path: object, query: readQuery, writes: true, run: deleteObject },
];
