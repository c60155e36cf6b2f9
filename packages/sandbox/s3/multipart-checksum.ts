import { createChecksum } from '../objects/checksum.ts';
import { type CrcName, combineCrc } from '../objects/crc.ts';
import { S3Error } from './errors.ts';
import {
  type ChecksumAlgorithm,
  checksumAlgorithms,
  type ObjectChecksum,
  type Upload,
  type UploadedPart,
} from './model.ts';

type Headers = Readonly<Record<string, string | undefined>>;

/** The checksum that an upload will have, from the headers that created it. */
export function chosenChecksum(headers: Headers): Pick<Upload, 'checksumAlgorithm' | 'checksumType'> {
  const algorithm = headers['x-amz-checksum-algorithm'] as ChecksumAlgorithm | undefined;
  const type = headers['x-amz-checksum-type'];
  if (algorithm === undefined) {
    if (type !== undefined)
      throw new S3Error(
        'InvalidRequest',
        'The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.',
      );
    return {};
  }
  if (!checksumAlgorithms.includes(algorithm))
    throw new S3Error(
      'InvalidRequest',
      'Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]',
    );
  const checksumType = type ?? (algorithm === 'CRC64NVME' ? 'FULL_OBJECT' : 'COMPOSITE');
  const isCrc = algorithm.startsWith('CRC');
  const allowed = checksumType === 'FULL_OBJECT' ? isCrc : checksumType === 'COMPOSITE' && algorithm !== 'CRC64NVME';
  if (!allowed)
    throw new S3Error(
      'InvalidRequest',
      `The ${checksumType} checksum type cannot be used with the ${algorithm.toLowerCase()} checksum algorithm.`,
    );
  return { checksumAlgorithm: algorithm, checksumType: checksumType as 'FULL_OBJECT' | 'COMPOSITE' };
}

/** The finished object's checksum, from the verified checksums of its parts. */
export function multipartChecksum(upload: Upload, parts: readonly UploadedPart[]): ObjectChecksum | undefined {
  const { checksumAlgorithm: algorithm, checksumType: type } = upload;
  if (!algorithm || !type) return undefined;
  const digests: Buffer[] = parts.map((part) => Buffer.from(part.checksum!.value, 'base64'));
  if (type === 'COMPOSITE') {
    const checksum = createChecksum(algorithm);
    for (const digest of digests) checksum.update(digest);
    return { algorithm, type, value: `${checksum.digest().toString('base64')}-${parts.length}` };
  }
  const combined = digests.reduce((whole, digest, index) =>
    combineCrc(algorithm as CrcName, whole, digest, parts[index]!.size),
  );
  return { algorithm, type, value: combined.toString('base64') };
}

/** The checksum in the completing request must equal the computed one. */
export function checkClaimedChecksum(headers: Headers, checksum: ObjectChecksum | undefined): void {
  for (const algorithm of checksumAlgorithms) {
    const claimed = headers[`x-amz-checksum-${algorithm.toLowerCase()}`];
    if (claimed === undefined) continue;
    if (checksum?.algorithm !== algorithm)
      throw new S3Error('InvalidRequest', `The upload was not created with the ${algorithm} checksum algorithm.`);
    if (claimed !== checksum.value)
      throw new S3Error('BadDigest', `The ${algorithm} you specified did not match the calculated checksum.`);
  }
  const claimedType = headers['x-amz-checksum-type'];
  if (claimedType !== undefined && claimedType !== checksum?.type)
    throw new S3Error(
      'InvalidRequest',
      `The upload was created using the ${checksum?.type} checksum mode. The complete request must use the same checksum mode.`,
    );
}
