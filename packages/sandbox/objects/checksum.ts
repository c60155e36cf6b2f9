import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Crc64Nvme, crc32c } from './crc.ts';

export type ChecksumName = 'CRC32' | 'CRC32C' | 'CRC64NVME' | 'SHA1' | 'SHA256' | 'MD5';

/** A checksum that is fed while bytes pass by, so that nothing has to be read twice. */
export interface Checksum {
  update(bytes: Uint8Array): void;
  digest(): Buffer;
}

export function createChecksum(name: ChecksumName): Checksum {
  switch (name) {
    case 'CRC32':
      return runningCrc32((bytes, previous) => crc32(bytes, previous));
    case 'CRC32C':
      return runningCrc32(crc32c);
    case 'CRC64NVME':
      return new Crc64Nvme();
    default: {
      const hash = createHash(name);
      return { update: (bytes) => void hash.update(bytes), digest: () => hash.digest() };
    }
  }
}

function runningCrc32(step: (bytes: Uint8Array, previous: number) => number): Checksum {
  let value = 0;
  return {
    update(bytes) {
      value = step(bytes, value);
    },
    digest() {
      const digest = Buffer.alloc(4);
      digest.writeUInt32BE(value);
      return digest;
    },
  };
}
