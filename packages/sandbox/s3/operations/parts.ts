import { parseRange } from '../../objects/http-range.ts';
import { bucketOf, type Call, integerParameter, type Operation, type Reply } from '../call.ts';
import { S3Error } from '../errors.ts';
import type { UploadedPart } from '../model.ts';
import { checksumHeaderNames } from '../object-headers.ts';
import { type UploadState, uploadRow } from '../state.ts';
import { element, optional } from '../xml.ts';
import { copyBytes, copySource, copySourceHeaders } from './copy.ts';
import { owner } from './lists.ts';
import { storePayload } from './objects.ts';

export const partsMax = 10_000;
const pageMax = 1000;

export function findUpload(call: Call): UploadState {
  const uploadId = call.query.get('uploadId') ?? '';
  const upload = bucketOf(call).uploads.get(uploadRow({ key: call.key, uploadId }));
  if (!upload) throw new S3Error('NoSuchUpload', undefined, { UploadId: uploadId });
  return upload;
}

function partNumberOf(call: Call): number {
  return integerParameter(call, 'partNumber', 0, 1, partsMax);
}

async function uploadPart(call: Call): Promise<Reply> {
  const { state } = call;
  const partNumber = partNumberOf(call);
  const { checksumAlgorithm } = findUpload(call).upload;
  const { received, piece } = await storePayload(call, state);
  const actual = received.checksum?.algorithm;
  // The upload may have been completed or aborted while the part was being sent.
  const refusal =
    checksumAlgorithm && actual !== checksumAlgorithm
      ? new S3Error(
          'InvalidRequest',
          `Checksum Type mismatch occurred, expected checksum Type: ${checksumAlgorithm.toLowerCase()}, actual checksum Type: ${actual?.toLowerCase() ?? 'null'}`,
        )
      : stillOpen(call);
  if (refusal) {
    state.contents.release(piece);
    throw refusal;
  }
  const part: UploadedPart = {
    partNumber,
    size: received.size,
    etag: `"${received.md5.toString('hex')}"`,
    modifiedAtMs: state.now(),
    pieces: [piece],
    ...(received.checksum && { checksum: received.checksum }),
  };
  await state.savePart(findUpload(call), part);
  return { status: 200, headers: { etag: part.etag, ...partChecksumHeader(part) } };
}

function stillOpen(call: Call): S3Error | undefined {
  try {
    findUpload(call);
    return undefined;
  } catch (error) {
    if (error instanceof S3Error) return error;
    throw error;
  }
}

async function uploadPartCopy(call: Call): Promise<Reply> {
  const { state } = call;
  const partNumber = partNumberOf(call);
  const { upload } = findUpload(call);
  const source = copySource(call);
  const header = call.headers['x-amz-copy-source-range'];
  const range = header === undefined ? { start: 0, end: source.size } : parseRange(header, source.size);
  const wanted = /^bytes=\d+-(\d+)$/.exec(header ?? '');
  if (range === undefined || range === 'unsatisfiable' || (header && !(wanted && Number(wanted[1]) < source.size)))
    throw new S3Error('InvalidArgument', `Range specified is not valid for source object of size: ${source.size}`);
  const copied = await copyBytes(state, source, range, upload.checksumAlgorithm);
  const refusal = stillOpen(call);
  if (refusal) {
    state.contents.release(copied.piece);
    throw refusal;
  }
  const part: UploadedPart = {
    partNumber,
    size: copied.piece.size,
    etag: `"${copied.md5.toString('hex')}"`,
    modifiedAtMs: state.now(),
    pieces: [copied.piece],
    ...(copied.checksum && { checksum: copied.checksum }),
  };
  await state.savePart(findUpload(call), part);
  return {
    status: 200,
    xml: element('CopyPartResult', [
      element('ETag', part.etag),
      element('LastModified', new Date(part.modifiedAtMs).toISOString()),
      ...(part.checksum ? [element(`Checksum${part.checksum.algorithm}`, part.checksum.value)] : []),
    ]),
  };
}

function partChecksumHeader(part: UploadedPart): Record<string, string> {
  return part.checksum ? { [`x-amz-checksum-${part.checksum.algorithm.toLowerCase()}`]: part.checksum.value } : {};
}

async function listParts(call: Call): Promise<Reply> {
  const { upload, parts } = findUpload(call);
  const marker = integerParameter(call, 'part-number-marker', 0, 0, partsMax);
  const max = Math.min(integerParameter(call, 'max-parts', pageMax, 1, 2 ** 31 - 1), pageMax);
  const after = [...parts.values()]
    .filter((part) => part.partNumber > marker)
    .sort((a, b) => a.partNumber - b.partNumber);
  const page = after.slice(0, max);
  const isTruncated = after.length > max;
  return {
    status: 200,
    xml: element('ListPartsResult', [
      element('Bucket', upload.bucket),
      element('Key', upload.key),
      element('UploadId', upload.uploadId),
      owner,
      element('StorageClass', 'STANDARD'),
      ...optional('ChecksumAlgorithm', upload.checksumAlgorithm),
      ...optional('ChecksumType', upload.checksumType),
      element('PartNumberMarker', marker),
      ...optional('NextPartNumberMarker', page.at(-1)?.partNumber),
      element('MaxParts', max),
      element('IsTruncated', isTruncated),
      ...page.map((part) =>
        element('Part', [
          element('PartNumber', part.partNumber),
          element('LastModified', new Date(part.modifiedAtMs).toISOString()),
          element('ETag', part.etag),
          element('Size', part.size),
          ...(part.checksum ? [element(`Checksum${part.checksum.algorithm}`, part.checksum.value)] : []),
        ]),
      ),
    ]),
  };
}

const marks = ['partNumber', 'uploadId'];

export const partOperations: Operation[] = [
  {
    name: 'UploadPart',
    method: 'PUT',
    level: 'object',
    marks: marks,
    headers: checksumHeaderNames,
    writes: true,
    run: uploadPart,
  },
  {
    name: 'UploadPartCopy',
    method: 'PUT',
    level: 'object',
    marks: marks,
    markHeader: 'x-amz-copy-source',
    headers: [...copySourceHeaders, 'x-amz-copy-source-range'],
    writes: true,
    run: uploadPartCopy,
  },
  {
    name: 'ListParts',
    method: 'GET',
    level: 'object',
    marks: ['uploadId'],
    query: ['max-parts', 'part-number-marker'],
    writes: false,
    run: listParts,
  },
];
