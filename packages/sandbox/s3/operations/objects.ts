import { parseRange } from '../../objects/http-range.ts';
import { bucketOf, type Call, type Operation, type Reply } from '../call.ts';
import { checkReadConditions, checkWriteConditions } from '../conditions.ts';
import { notImplemented, S3Error } from '../errors.ts';
import { asksForLock, requestedLock } from '../lock.ts';
import type { ObjectVersion } from '../model.ts';
import {
  checksumHeaderNames,
  checksumHeaders,
  describeObject,
  readObjectHeaders,
  versionHeader,
  writeHeaders,
} from '../object-headers.ts';
import { type ReceivedPayload, receivePayload } from '../payload.ts';
import type { Bucket, S3State } from '../state.ts';

const keyBytesMax = 1024;

export function checkKey(key: string): void {
  const size = Buffer.byteLength(key);
  if (size > keyBytesMax)
    throw new S3Error('KeyTooLongError', undefined, { Size: String(size), MaxSizeAllowed: String(keyBytesMax) });
}

/** The version of a read: the named one, or the newest. */
export function findVersion(bucket: Bucket, key: string, versionId: string | undefined): ObjectVersion {
  const versions = bucket.keys.get(key);
  if (versionId !== undefined) {
    const version = versions?.find((one) => one.versionId === versionId);
    if (!version) throw new S3Error('NoSuchVersion', undefined, { Key: key, VersionId: versionId });
    if (version.isDeleteMarker)
      throw new S3Error(
        'MethodNotAllowed',
        undefined,
        {},
        { 'x-amz-delete-marker': 'true', 'x-amz-version-id': versionId, allow: 'DELETE' },
      );
    return version;
  }
  const newest = versions?.[0];
  if (!newest) throw new S3Error('NoSuchKey', undefined, { Key: key });
  if (newest.isDeleteMarker)
    throw new S3Error(
      'NoSuchKey',
      undefined,
      { Key: key },
      { 'x-amz-delete-marker': 'true', 'x-amz-version-id': newest.versionId },
    );
  return newest;
}

export function keepsVersions(bucket: Bucket): boolean {
  return bucket.settings.versioning !== 'Off';
}

/** Streams a body into contents; the written bytes are freed again when anything is wrong. */
export async function storePayload(call: Call, state: S3State) {
  const writer = state.contents.create();
  let received: ReceivedPayload;
  try {
    received = await receivePayload(call.payload, (bytes) => writer.write(bytes));
  } catch (error) {
    await writer.abort();
    throw error;
  }
  return { received, piece: await writer.finish() };
}

async function putObject(call: Call): Promise<Reply> {
  checkKey(call.key);
  const { state, headers } = call;
  const bucket = bucketOf(call);
  const objectHeaders = readObjectHeaders(headers);
  const lock = requestedLock(headers, bucket.settings, state.now());
  checkWriteConditions(headers, bucket.keys.get(call.key)?.[0]);
  const { received, piece } = await storePayload(call, state);
  try {
    if (asksForLock(headers) && !received.checksum && headers['content-md5'] === undefined)
      throw new S3Error(
        'InvalidRequest',
        'Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters',
      );
    checkWriteConditions(headers, state.bucket(call.bucketName).keys.get(call.key)?.[0]);
  } catch (error) {
    state.contents.release(piece);
    throw error;
  }
  const version = await state.addVersion(bucket, {
    key: call.key,
    isDeleteMarker: false,
    size: received.size,
    etag: `"${received.md5.toString('hex')}"`,
    modifiedAtMs: state.now(),
    headers: objectHeaders,
    pieces: [piece],
    parts: [],
    ...(received.checksum && { checksum: { ...received.checksum, type: 'FULL_OBJECT' as const } }),
    ...lock,
  });
  return {
    status: 200,
    headers: {
      etag: version.etag,
      ...checksumHeaders(version.checksum),
      ...versionHeader(version, keepsVersions(bucket)),
    },
  };
}

const overrides = [
  'content-type',
  'content-language',
  'expires',
  'cache-control',
  'content-disposition',
  'content-encoding',
];

function readObject(call: Call): Reply {
  const bucket = bucketOf(call);
  const version = findVersion(bucket, call.key, call.query.get('versionId'));
  checkReadConditions(call.headers, version);
  const headers = describeObject(version, keepsVersions(bucket));
  for (const name of overrides) {
    const value = call.query.get(`response-${name}`);
    if (value !== undefined) headers[name] = value;
  }
  const range = requestedRange(call, version, headers);
  const mode = call.headers['x-amz-checksum-mode'];
  if (mode !== undefined && mode !== 'ENABLED')
    throw new S3Error('InvalidArgument', 'x-amz-checksum-mode must be ENABLED');
  if (mode === 'ENABLED' && !range) Object.assign(headers, checksumHeaders(version.checksum));
  if (range) headers['content-range'] = `bytes ${range.start}-${range.end - 1}/${version.size}`;
  return {
    status: range ? 206 : 200,
    headers,
    bytes: { pieces: version.pieces, ...(range ?? { start: 0, end: version.size }) },
  };
}

function requestedRange(call: Call, version: ObjectVersion, headers: Record<string, string>) {
  const header = call.headers.range;
  const part = call.query.get('partNumber');
  if (part !== undefined && header !== undefined)
    throw new S3Error('InvalidRequest', 'Cannot specify both Range header and partNumber query parameter');
  if (part !== undefined) return partRange(version, Number(part), headers);
  if (header?.includes(',')) throw notImplemented('More than one range');
  const range = parseRange(header, version.size);
  if (range === 'unsatisfiable')
    throw new S3Error(
      'InvalidRange',
      undefined,
      { RangeRequested: header ?? '', ActualObjectSize: String(version.size) },
      { 'content-range': `bytes */${version.size}` },
    );
  return range;
}

function partRange(version: ObjectVersion, partNumber: number, headers: Record<string, string>) {
  const parts = version.parts.length > 0 ? version.parts : [{ partNumber: 1, size: version.size }];
  let start = 0;
  for (const [index, part] of parts.entries()) {
    if (index + 1 === partNumber) {
      if (version.parts.length > 0) headers['x-amz-mp-parts-count'] = String(version.parts.length);
      return part.size === 0 ? undefined : { start, end: start + part.size };
    }
    start += part.size;
  }
  throw new S3Error('InvalidPartNumber', undefined, {
    PartNumberRequested: String(partNumber),
    ActualPartCount: String(parts.length),
  });
}

const readQuery = ['versionId', 'partNumber', ...overrides.map((name) => `response-${name}`)];

export const objectOperations: Operation[] = [
  {
    name: 'PutObject',
    method: 'PUT',
    level: 'object',
    headers: [...writeHeaders, ...checksumHeaderNames],
    writes: true,
    run: putObject,
  },
  {
    name: 'GetObject',
    method: 'GET',
    level: 'object',
    query: readQuery,
    headers: ['x-amz-checksum-mode'],
    writes: false,
    run: async (call) => readObject(call),
  },
  {
    name: 'HeadObject',
    method: 'HEAD',
    level: 'object',
    query: readQuery,
    headers: ['x-amz-checksum-mode'],
    writes: false,
    run: async (call) => readObject(call),
  },
];
