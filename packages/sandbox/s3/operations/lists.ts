import { compareUtf8 } from '../../objects/sorted-map.ts';
import { bucketOf, type Call, integerParameter, type Operation, type Reply } from '../call.ts';
import { S3Error } from '../errors.ts';
import type { ObjectVersion } from '../model.ts';
import { encodeUri } from '../signature/canonical.ts';
import { element, optional, type XmlNode } from '../xml.ts';

const pageMax = 1000;
export const owner = element('Owner', [element('ID', 'sandbox-owner'), element('DisplayName', 'sandbox')]);

/** Where a page ended: at a key, or at a common prefix whose keys are all done. */
interface Cursor {
  last: string;
  isPrefix: boolean;
}

interface Page<Item> {
  items: Item[];
  prefixes: string[];
  next?: Cursor;
}

/** One page of keys in order, folded at the delimiter. `entries` must start at or before `after`. */
export function pageOf<Item>(
  entries: Iterable<[string, Item]>,
  options: { prefix: string; delimiter: string; after: Cursor; max: number },
): Page<Item> {
  const { prefix, delimiter, after, max } = options;
  const page: Page<Item> = { items: [], prefixes: [] };
  let cursor = after;
  for (const [key, item] of entries) {
    if (!key.startsWith(prefix)) {
      if (compareUtf8(key, prefix) > 0) break;
      continue;
    }
    const done = cursor.isPrefix && cursor.last !== '' && key.startsWith(cursor.last);
    if (done || (cursor.last !== '' && compareUtf8(key, cursor.last) <= 0)) continue;
    const fold = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    if (page.items.length + page.prefixes.length >= max) {
      page.next = cursor;
      break;
    }
    if (fold === -1) {
      page.items.push(item);
      cursor = { last: key, isPrefix: false };
    } else {
      const folded = key.slice(0, fold + delimiter.length);
      page.prefixes.push(folded);
      cursor = { last: folded, isPrefix: true };
    }
  }
  return page;
}

/** Keys may contain characters that XML cannot; `encoding-type=url` solves that. */
function textEncoder(call: Call): (text: string) => string {
  const type = call.query.get('encoding-type');
  if (type === undefined) return (text) => text;
  if (type !== 'url') throw new S3Error('InvalidArgument', 'Invalid Encoding Method specified in Request');
  return (text) => encodeUri(text).replace(/%2F/g, '/').replace(/%20/g, '+');
}

function readToken(token: string | undefined): Cursor | undefined {
  if (token === undefined) return undefined;
  try {
    const [last, isPrefix] = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
    if (typeof last === 'string' && typeof isPrefix === 'boolean') return { last, isPrefix };
  } catch {}
  throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect');
}

function writeToken(cursor: Cursor): string {
  return Buffer.from(JSON.stringify([cursor.last, cursor.isPrefix])).toString('base64url');
}

function contentsEntry(version: ObjectVersion, encode: (text: string) => string, fetchOwner: boolean): XmlNode {
  return element('Contents', [
    element('Key', encode(version.key)),
    element('LastModified', new Date(version.modifiedAtMs).toISOString()),
    element('ETag', version.etag),
    ...checksumElements(version),
    element('Size', version.size),
    element('StorageClass', 'STANDARD'),
    ...(fetchOwner ? [owner] : []),
  ]);
}

function checksumElements(version: ObjectVersion): XmlNode[] {
  if (!version.checksum) return [];
  return [element('ChecksumAlgorithm', version.checksum.algorithm), element('ChecksumType', version.checksum.type)];
}

async function listObjectsV2(call: Call): Promise<Reply> {
  if (call.query.get('list-type') !== '2')
    throw new S3Error('InvalidArgument', 'Invalid List Type specified in Request');
  const bucket = bucketOf(call);
  const encode = textEncoder(call);
  const prefix = call.query.get('prefix') ?? '';
  const delimiter = call.query.get('delimiter') ?? '';
  const startAfter = call.query.get('start-after');
  const token = call.query.get('continuation-token');
  const max = Math.min(integerParameter(call, 'max-keys', pageMax, 0, 2 ** 31 - 1), pageMax);
  const after = readToken(token) ?? { last: startAfter ?? '', isPrefix: false };
  const page =
    max === 0
      ? { items: [], prefixes: [], next: undefined }
      : pageOf(current(bucket.keys.entriesFrom(later(prefix, after.last))), { prefix, delimiter, after, max });
  const fetchOwner = call.query.get('fetch-owner') === 'true';
  return {
    status: 200,
    xml: element('ListBucketResult', [
      element('Name', call.bucketName),
      element('Prefix', encode(prefix)),
      ...optional('Delimiter', delimiter === '' ? undefined : encode(delimiter)),
      element('MaxKeys', max),
      ...optional('EncodingType', call.query.get('encoding-type')),
      ...optional('StartAfter', startAfter === undefined ? undefined : encode(startAfter)),
      ...optional('ContinuationToken', token),
      element('KeyCount', page.items.length + page.prefixes.length),
      element('IsTruncated', page.next !== undefined),
      ...optional('NextContinuationToken', page.next && writeToken(page.next)),
      ...page.items.map((version) => contentsEntry(version, encode, fetchOwner)),
      ...commonPrefixes(page.prefixes, encode),
    ]),
  };
}

/** The first version of the call: a marker instead of a token. */
async function listObjects(call: Call): Promise<Reply> {
  const bucket = bucketOf(call);
  const encode = textEncoder(call);
  const prefix = call.query.get('prefix') ?? '';
  const delimiter = call.query.get('delimiter') ?? '';
  const marker = call.query.get('marker') ?? '';
  const max = Math.min(integerParameter(call, 'max-keys', pageMax, 1, 2 ** 31 - 1), pageMax);
  const after = { last: marker, isPrefix: delimiter !== '' && marker.endsWith(delimiter) };
  const entries = current(bucket.keys.entriesFrom(later(prefix, marker)));
  const page = pageOf(entries, { prefix, delimiter, after, max });
  return {
    status: 200,
    xml: element('ListBucketResult', [
      element('Name', call.bucketName),
      element('Prefix', encode(prefix)),
      element('Marker', encode(marker)),
      ...optional('Delimiter', delimiter === '' ? undefined : encode(delimiter)),
      element('MaxKeys', max),
      ...optional('EncodingType', call.query.get('encoding-type')),
      element('IsTruncated', page.next !== undefined),
      ...optional('NextMarker', page.next && delimiter !== '' ? encode(page.next.last) : undefined),
      ...page.items.map((version) => contentsEntry(version, encode, true)),
      ...commonPrefixes(page.prefixes, encode),
    ]),
  };
}

function later(a: string, b: string): string {
  return compareUtf8(a, b) > 0 ? a : b;
}

export function commonPrefixes(prefixes: readonly string[], encode: (text: string) => string): XmlNode[] {
  return prefixes.map((prefix) => element('CommonPrefixes', [element('Prefix', encode(prefix))]));
}

function* current(entries: Iterable<[string, ObjectVersion[]]>): Generator<[string, ObjectVersion]> {
  for (const [key, [newest]] of entries) if (newest && !newest.isDeleteMarker) yield [key, newest];
}

async function listObjectVersions(call: Call): Promise<Reply> {
  const bucket = bucketOf(call);
  const encode = textEncoder(call);
  const prefix = call.query.get('prefix') ?? '';
  const delimiter = call.query.get('delimiter') ?? '';
  const keyMarker = call.query.get('key-marker') ?? '';
  const versionMarker = call.query.get('version-id-marker');
  if (versionMarker && keyMarker === '')
    throw new S3Error('InvalidArgument', 'A version-id marker cannot be specified without a key marker.');
  const max = Math.min(integerParameter(call, 'max-keys', pageMax, 1, 2 ** 31 - 1), pageMax);
  const nodes: XmlNode[] = [];
  const prefixes: string[] = [];
  let last: { key: string; versionId?: string } = { key: keyMarker };
  let isTruncated = false;
  const full = () => nodes.length + prefixes.length >= max;
  scan: for (const [key, versions] of bucket.keys.entriesFrom(later(prefix, keyMarker))) {
    if (!key.startsWith(prefix)) break;
    const fold = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    if (fold !== -1) {
      const folded = key.slice(0, fold + delimiter.length);
      if (prefixes.at(-1) === folded || keyMarker.startsWith(folded)) continue;
      isTruncated = full();
      if (isTruncated) break;
      prefixes.push(folded);
      last = { key: folded };
      continue;
    }
    const from = key === keyMarker ? versions.findIndex((one) => one.versionId === versionMarker) + 1 : 0;
    if (key === keyMarker && from === 0) continue;
    for (const version of versions.slice(from)) {
      isTruncated = full();
      if (isTruncated) break scan;
      nodes.push(versionEntry(version, version === versions[0], encode));
      last = { key, versionId: version.versionId };
    }
  }
  return {
    status: 200,
    xml: element('ListVersionsResult', [
      element('Name', call.bucketName),
      element('Prefix', encode(prefix)),
      element('KeyMarker', encode(keyMarker)),
      element('VersionIdMarker', versionMarker ?? ''),
      ...optional('NextKeyMarker', isTruncated ? encode(last.key) : undefined),
      ...optional('NextVersionIdMarker', isTruncated ? last.versionId : undefined),
      element('MaxKeys', max),
      ...optional('Delimiter', delimiter === '' ? undefined : encode(delimiter)),
      ...optional('EncodingType', call.query.get('encoding-type')),
      element('IsTruncated', isTruncated),
      ...nodes,
      ...commonPrefixes(prefixes, encode),
    ]),
  };
}

function versionEntry(version: ObjectVersion, isLatest: boolean, encode: (text: string) => string): XmlNode {
  return element(version.isDeleteMarker ? 'DeleteMarker' : 'Version', [
    element('Key', encode(version.key)),
    element('VersionId', version.versionId),
    element('IsLatest', isLatest),
    element('LastModified', new Date(version.modifiedAtMs).toISOString()),
    ...(version.isDeleteMarker
      ? []
      : [
          element('ETag', version.etag),
          ...checksumElements(version),
          element('Size', version.size),
          element('StorageClass', 'STANDARD'),
        ]),
    owner,
  ]);
}

const common = ['prefix', 'delimiter', 'max-keys', 'encoding-type'];

export const listOperations: Operation[] = [
  {
    name: 'ListObjects',
    method: 'GET',
    level: 'bucket',
    query: [...common, 'marker'],
    writes: false,
    run: listObjects,
  },
  {
    name: 'ListObjectsV2',
    method: 'GET',
    level: 'bucket',
    marks: ['list-type'],
    query: [...common, 'start-after', 'continuation-token', 'fetch-owner'],
    writes: false,
    run: listObjectsV2,
  },
  {
    name: 'ListObjectVersions',
    method: 'GET',
    level: 'bucket',
    marks: ['versions'],
    query: [...common, 'key-marker', 'version-id-marker'],
    writes: false,
    run: listObjectVersions,
  },
];
