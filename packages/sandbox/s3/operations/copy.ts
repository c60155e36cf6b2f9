import { createHash } from 'node:crypto';
import { type Checksum, createChecksum } from '../../objects/checksum.ts';
import { type Piece, readPieces } from '../../objects/contents.ts';
import { bucketOf, type Call, type Operation, type Reply } from '../call.ts';
import { checkReadConditions, checkWriteConditions } from '../conditions.ts';
import { S3Error } from '../errors.ts';
import { requestedLock } from '../lock.ts';
import { type ChecksumAlgorithm, checksumAlgorithms, type ObjectChecksum, type ObjectVersion } from '../model.ts';
import { readObjectHeaders, versionHeader, writeHeaders } from '../object-headers.ts';
import { objectBytesMax } from '../payload.ts';
import type { S3State } from '../state.ts';
import { element } from '../xml.ts';
import { checkKey, findVersion, keepsVersions } from './objects.ts';

export const copySourceHeaders = [
  'x-amz-copy-source-if-match',
  'x-amz-copy-source-if-none-match',
  'x-amz-copy-source-if-modified-since',
  'x-amz-copy-source-if-unmodified-since',
];

/** The version named by x-amz-copy-source, after its conditions were checked. */
export function copySource(call: Call): ObjectVersion {
  const header = call.headers['x-amz-copy-source'] ?? '';
  const [address, parameters] = header.split('?', 2) as [string, string?];
  const match = /^\/?([^/]+)\/(.+)$/s.exec(decodePath(address));
  if (!match)
    throw new S3Error('InvalidArgument', 'Copy Source must mention the source bucket and key: sourcebucket/sourcekey');
  const versionId = parameters === undefined ? undefined : new URLSearchParams(parameters).get('versionId');
  const version = findVersion(call.state.bucket(match[1]!), match[2]!, versionId ?? undefined);
  checkReadConditions(call.headers, version, 'x-amz-copy-source-');
  return version;
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new S3Error('InvalidArgument', 'Copy Source must be URL-encoded');
  }
}

/** Copies a range of bytes into one new piece, with the digests a client expects of it. */
export async function copyBytes(
  state: S3State,
  source: ObjectVersion,
  range: { start: number; end: number },
  algorithm: ChecksumAlgorithm | undefined,
): Promise<{ piece: Piece; md5: Buffer; checksum?: { algorithm: ChecksumAlgorithm; value: string } }> {
  const md5 = createHash('md5');
  const checksum: Checksum | undefined = algorithm && createChecksum(algorithm);
  const writer = state.contents.create();
  for (const piece of source.pieces) state.contents.retain(piece);
  try {
    for await (const bytes of readPieces(state.contents, source.pieces, range.start, range.end)) {
      md5.update(bytes);
      checksum?.update(bytes);
      await writer.write(bytes);
    }
    const piece = await writer.finish();
    const value = checksum?.digest().toString('base64');
    return { piece, md5: md5.digest(), ...(algorithm && value && { checksum: { algorithm, value } }) };
  } catch (error) {
    await writer.abort();
    throw error;
  } finally {
    state.releaseAll(source.pieces);
  }
}

async function copyObject(call: Call): Promise<Reply> {
  checkKey(call.key);
  const { state, headers } = call;
  const bucket = bucketOf(call);
  const source = copySource(call);
  const directive = headers['x-amz-metadata-directive'] ?? 'COPY';
  if (directive !== 'COPY' && directive !== 'REPLACE')
    throw new S3Error('InvalidArgument', 'Unknown metadata directive.');
  if (source.size > objectBytesMax)
    throw new S3Error(
      'InvalidRequest',
      'The specified copy source is larger than the maximum allowable size for a copy source: 5368709120',
    );
  const isSelf = source === bucket.keys.get(call.key)?.[0];
  if (isSelf && directive === 'COPY')
    throw new S3Error(
      'InvalidRequest',
      "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
    );
  const objectHeaders = directive === 'REPLACE' ? readObjectHeaders(headers) : source.headers;
  const lock = requestedLock(headers, bucket.settings, state.now());
  const copied = await copyBytes(
    state,
    source,
    { start: 0, end: source.size },
    askedAlgorithm(headers) ?? source.checksum?.algorithm,
  );
  try {
    checkWriteConditions(headers, bucket.keys.get(call.key)?.[0]);
  } catch (error) {
    state.contents.release(copied.piece);
    throw error;
  }
  const checksum: ObjectChecksum | undefined = copied.checksum && { ...copied.checksum, type: 'FULL_OBJECT' };
  const version = await state.addVersion(bucket, {
    key: call.key,
    isDeleteMarker: false,
    size: source.size,
    etag: `"${copied.md5.toString('hex')}"`,
    modifiedAtMs: state.now(),
    headers: objectHeaders,
    pieces: [copied.piece],
    parts: [],
    ...(checksum && { checksum }),
    ...lock,
  });
  return {
    status: 200,
    headers: {
      ...versionHeader(version, keepsVersions(bucket)),
      ...(source.versionId !== 'null' && { 'x-amz-copy-source-version-id': source.versionId }),
    },
    xml: element('CopyObjectResult', [
      element('ETag', version.etag),
      element('LastModified', new Date(version.modifiedAtMs).toISOString()),
      ...(checksum
        ? [element('ChecksumType', checksum.type), element(`Checksum${checksum.algorithm}`, checksum.value)]
        : []),
    ]),
  };
}

function askedAlgorithm(headers: Call['headers']): ChecksumAlgorithm | undefined {
  const asked = headers['x-amz-checksum-algorithm'] as ChecksumAlgorithm | undefined;
  if (asked !== undefined && !checksumAlgorithms.includes(asked))
    throw new S3Error(
      'InvalidRequest',
      'Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]',
    );
  return asked;
}

export const copyOperations: Operation[] = [
  {
    name: 'CopyObject',
    method: 'PUT',
    level: 'object',
    markHeader: 'x-amz-copy-source',
    headers: [...writeHeaders, ...copySourceHeaders, 'x-amz-metadata-directive', 'x-amz-checksum-algorithm'],
    writes: true,
    run: copyObject,
  },
];
