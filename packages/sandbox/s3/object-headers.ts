import { httpDate } from './conditions.ts';
import { notImplemented, S3Error } from './errors.ts';
import type { ObjectChecksum, ObjectHeaders, ObjectVersion } from './model.ts';

type Headers = Readonly<Record<string, string | undefined>>;

const systemHeaders = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires'];
const userPrefix = 'x-amz-meta-';
const userBytesMax = 2048;

/** x-amz-* headers that all writing operations support. */
export const writeHeaders = [
  'x-amz-meta-*',
  'x-amz-acl',
  'x-amz-storage-class',
  'x-amz-object-lock-mode',
  'x-amz-object-lock-retain-until-date',
  'x-amz-object-lock-legal-hold',
];
export const checksumHeaderNames = [
  'x-amz-checksum-crc32',
  'x-amz-checksum-crc32c',
  'x-amz-checksum-crc64nvme',
  'x-amz-checksum-sha1',
  'x-amz-checksum-sha256',
];

export function readObjectHeaders(headers: Headers): ObjectHeaders {
  const acl = headers['x-amz-acl'];
  if (acl !== undefined && acl !== 'private' && acl !== 'bucket-owner-full-control')
    throw new S3Error('AccessControlListNotSupported');
  const storageClass = headers['x-amz-storage-class'];
  if (storageClass !== undefined && storageClass !== 'STANDARD') throw notImplemented(`Storage class ${storageClass}`);
  const system: Record<string, string> = {};
  for (const name of systemHeaders) {
    const value = name === 'content-encoding' ? withoutChunked(headers[name]) : headers[name];
    if (value) system[name] = value;
  }
  const user: Record<string, string> = {};
  let userBytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(userPrefix) || value === undefined) continue;
    user[name.slice(userPrefix.length)] = value;
    userBytes += Buffer.byteLength(name.slice(userPrefix.length)) + Buffer.byteLength(value);
  }
  if (userBytes > userBytesMax) throw new S3Error('MetadataTooLarge');
  return { contentType: headers['content-type'] ?? 'binary/octet-stream', system, user };
}

/** `aws-chunked` describes the transfer, not the object. */
function withoutChunked(value: string | undefined): string | undefined {
  return value
    ?.split(',')
    .map((one) => one.trim())
    .filter((one) => one !== 'aws-chunked')
    .join(',');
}

export function checksumHeaders(checksum: ObjectChecksum | undefined): Record<string, string> {
  if (!checksum) return {};
  return {
    [`x-amz-checksum-${checksum.algorithm.toLowerCase()}`]: checksum.value,
    'x-amz-checksum-type': checksum.type,
  };
}

export function versionHeader(version: ObjectVersion, keepsVersions: boolean): Record<string, string> {
  return keepsVersions ? { 'x-amz-version-id': version.versionId } : {};
}

/** The headers of GET and HEAD about an object. */
export function describeObject(version: ObjectVersion, keepsVersions: boolean): Record<string, string> {
  const described: Record<string, string> = {
    'content-type': version.headers.contentType,
    ...version.headers.system,
    etag: version.etag,
    'last-modified': httpDate(version.modifiedAtMs),
    'accept-ranges': 'bytes',
    ...versionHeader(version, keepsVersions),
  };
  for (const [name, value] of Object.entries(version.headers.user)) described[`${userPrefix}${name}`] = value;
  if (version.retention) {
    described['x-amz-object-lock-mode'] = version.retention.mode;
    described['x-amz-object-lock-retain-until-date'] = new Date(version.retention.untilMs).toISOString();
  }
  if (version.legalHold) described['x-amz-object-lock-legal-hold'] = 'ON';
  return described;
}
