import { createHash, randomBytes } from 'node:crypto';
import { bucketOf, type Call, documentOf, integerParameter, type Operation, type Reply } from '../call.ts';
import { checkWriteConditions } from '../conditions.ts';
import { S3Error } from '../errors.ts';
import { requestedLock } from '../lock.ts';
import type { Upload, UploadedPart } from '../model.ts';
import { checkClaimedChecksum, chosenChecksum, multipartChecksum } from '../multipart-checksum.ts';
import { checksumHeaderNames, readObjectHeaders, versionHeader, writeHeaders } from '../object-headers.ts';
import type { UploadState } from '../state.ts';
import { childText, element, optional, type XmlNode } from '../xml.ts';
import { commonPrefixes, owner, pageOf } from './lists.ts';
import { checkKey, keepsVersions } from './objects.ts';
import { findUpload, partsMax } from './parts.ts';

const partBytesMin = 5 * 1024 * 1024;
const pageMax = 1000;

async function createMultipartUpload(call: Call): Promise<Reply> {
  checkKey(call.key);
  const { state, headers } = call;
  const bucket = bucketOf(call);
  const upload: Upload = {
    uploadId: randomBytes(32).toString('base64url'),
    bucket: call.bucketName,
    key: call.key,
    createdAtMs: state.now(),
    headers: readObjectHeaders(headers),
    ...chosenChecksum(headers),
    ...requestedLock(headers, bucket.settings, state.now()),
  };
  await state.saveUpload(bucket, upload);
  return {
    status: 200,
    headers: {
      ...(upload.checksumAlgorithm && { 'x-amz-checksum-algorithm': upload.checksumAlgorithm }),
      ...(upload.checksumType && { 'x-amz-checksum-type': upload.checksumType }),
    },
    xml: element('InitiateMultipartUploadResult', [
      element('Bucket', call.bucketName),
      element('Key', call.key),
      element('UploadId', upload.uploadId),
    ]),
  };
}

/** The parts that the request lists, each checked against what was uploaded. */
function listedParts(root: XmlNode, { upload, parts }: UploadState): UploadedPart[] {
  const entries = root.children.filter((child) => child.name === 'Part');
  if (entries.length === 0 || entries.length > partsMax) throw new S3Error('MalformedXML');
  let previous = 0;
  const listed = entries.map((entry) => {
    const partNumber = Number(childText(entry, 'PartNumber'));
    const etag = childText(entry, 'ETag')?.replaceAll('"', '');
    if (!Number.isInteger(partNumber) || !etag) throw new S3Error('MalformedXML');
    if (partNumber <= previous) throw new S3Error('InvalidPartOrder', undefined, { UploadId: upload.uploadId });
    previous = partNumber;
    const part = parts.get(partNumber);
    if (part?.etag !== `"${etag}"`)
      throw new S3Error('InvalidPart', undefined, {
        UploadId: upload.uploadId,
        PartNumber: String(partNumber),
        ETag: etag,
      });
    checkPartChecksum(entry, part, upload);
    return part;
  });
  for (const part of listed.slice(0, -1))
    if (part.size < partBytesMin)
      throw new S3Error('EntityTooSmall', undefined, {
        ProposedSize: String(part.size),
        MinSizeAllowed: String(partBytesMin),
        PartNumber: String(part.partNumber),
        ETag: part.etag,
      });
  return listed;
}

function checkPartChecksum(entry: XmlNode, part: UploadedPart, upload: Upload): void {
  const given = entry.children.filter((child) => child.name.startsWith('Checksum'));
  if (upload.checksumType === 'COMPOSITE' && given.length === 0)
    throw new S3Error(
      'InvalidRequest',
      `The upload was created using a ${upload.checksumAlgorithm?.toLowerCase()} checksum. The complete request must include the checksum for each part. It was missing for part ${part.partNumber} in the request.`,
    );
  for (const child of given)
    if (child.name !== `Checksum${part.checksum?.algorithm}` || child.text !== part.checksum?.value)
      throw new S3Error('InvalidPart', undefined, { UploadId: upload.uploadId, PartNumber: String(part.partNumber) });
}

async function completeMultipartUpload(call: Call): Promise<Reply> {
  const { state, headers } = call;
  const { root } = await documentOf(
    { ...call, payload: withoutObjectChecksum(call.payload) },
    'CompleteMultipartUpload',
  );
  const bucket = bucketOf(call);
  const uploadState = findUpload(call);
  const { upload } = uploadState;
  const parts = listedParts(root, uploadState);
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  const claimedSize = headers['x-amz-mp-object-size'];
  if (claimedSize !== undefined && claimedSize !== String(size))
    throw new S3Error('InvalidRequest', 'The provided x-amz-mp-object-size header does not match what was computed.');
  const checksum = multipartChecksum(upload, parts);
  checkClaimedChecksum(headers, checksum);
  checkWriteConditions(headers, bucket.keys.get(call.key)?.[0]);
  const md5 = createHash('md5');
  for (const part of parts) md5.update(Buffer.from(part.etag.replaceAll('"', ''), 'hex'));
  const [version] = await Promise.all([
    state.addVersion(bucket, {
      key: call.key,
      isDeleteMarker: false,
      size,
      etag: `"${md5.digest('hex')}-${parts.length}"`,
      modifiedAtMs: state.now(),
      headers: upload.headers,
      pieces: parts.flatMap((part) => part.pieces),
      parts: parts.map(({ partNumber, size: partSize, checksum: one }) => ({
        partNumber,
        size: partSize,
        ...(one && { checksum: one.value }),
      })),
      ...(checksum && { checksum }),
      ...(upload.retention && { retention: upload.retention }),
      legalHold: upload.legalHold,
    }),
    state.removeUpload(bucket, uploadState, new Set(parts)),
  ]);
  return {
    status: 200,
    headers: versionHeader(version, keepsVersions(bucket)),
    xml: element('CompleteMultipartUploadResult', [
      element('Location', `${call.baseUrl}/${call.bucketName}/${encodeURI(call.key)}`),
      element('Bucket', call.bucketName),
      element('Key', call.key),
      element('ETag', version.etag),
      ...(checksum
        ? [element(`Checksum${checksum.algorithm}`, checksum.value), element('ChecksumType', checksum.type)]
        : []),
    ]),
  };
}

/** Here x-amz-checksum-* is about the object, not about the request's XML document. */
function withoutObjectChecksum(payload: Call['payload']): Call['payload'] {
  return { ...payload, ignoreChecksumHeaders: true };
}

async function abortMultipartUpload(call: Call): Promise<Reply> {
  await call.state.removeUpload(bucketOf(call), findUpload(call));
  return { status: 204 };
}

async function listMultipartUploads(call: Call): Promise<Reply> {
  const bucket = bucketOf(call);
  const prefix = call.query.get('prefix') ?? '';
  const delimiter = call.query.get('delimiter') ?? '';
  const keyMarker = call.query.get('key-marker') ?? '';
  const idMarker = call.query.get('upload-id-marker') ?? '';
  const max = Math.min(integerParameter(call, 'max-uploads', pageMax, 1, 2 ** 31 - 1), pageMax);
  // Without an upload id the marker comes after every upload of its key.
  const last = keyMarker === '' ? '' : `${keyMarker}\u0000${idMarker === '' ? '\u{10ffff}' : idMarker}`;
  const isPrefix = delimiter !== '' && keyMarker.endsWith(delimiter);
  const after = { last: isPrefix ? keyMarker : last, isPrefix };
  const page = pageOf(bucket.uploads.entriesFrom(prefix), { prefix, delimiter, after, max });
  const nextKey = page.next && (page.next.isPrefix ? page.next.last : page.next.last.split('\u0000')[0]);
  const nextId = page.next && !page.next.isPrefix ? page.next.last.split('\u0000')[1] : undefined;
  return {
    status: 200,
    xml: element('ListMultipartUploadsResult', [
      element('Bucket', call.bucketName),
      element('KeyMarker', keyMarker),
      element('UploadIdMarker', idMarker),
      ...optional('NextKeyMarker', nextKey),
      ...optional('NextUploadIdMarker', nextId),
      ...optional('Delimiter', delimiter === '' ? undefined : delimiter),
      element('Prefix', prefix),
      element('MaxUploads', max),
      element('IsTruncated', page.next !== undefined),
      ...page.items.map(({ upload }) => uploadEntry(upload)),
      ...commonPrefixes(page.prefixes, (text) => text),
    ]),
  };
}

function uploadEntry(upload: Upload): XmlNode {
  return element('Upload', [
    element('Key', upload.key),
    element('UploadId', upload.uploadId),
    element('Initiator', owner.children),
    owner,
    element('StorageClass', 'STANDARD'),
    element('Initiated', new Date(upload.createdAtMs).toISOString()),
    ...optional('ChecksumAlgorithm', upload.checksumAlgorithm),
    ...optional('ChecksumType', upload.checksumType),
  ]);
}

export const uploadOperations: Operation[] = [
  {
    name: 'CreateMultipartUpload',
    method: 'POST',
    level: 'object',
    marks: ['uploads'],
    headers: [...writeHeaders, 'x-amz-checksum-algorithm', 'x-amz-checksum-type'],
    writes: true,
    run: createMultipartUpload,
  },
  {
    name: 'CompleteMultipartUpload',
    method: 'POST',
    level: 'object',
    marks: ['uploadId'],
    headers: [...checksumHeaderNames, 'x-amz-checksum-type', 'x-amz-mp-object-size'],
    writes: true,
    run: completeMultipartUpload,
  },
  {
    name: 'AbortMultipartUpload',
    method: 'DELETE',
    level: 'object',
    marks: ['uploadId'],
    writes: true,
    run: abortMultipartUpload,
  },
  {
    name: 'ListMultipartUploads',
    method: 'GET',
    level: 'bucket',
    marks: ['uploads'],
    query: ['prefix', 'delimiter', 'key-marker', 'upload-id-marker', 'max-uploads'],
    writes: false,
    run: listMultipartUploads,
  },
];
