// Node has no native CRC-32C and CRC-64/NVME, so they are computed here, eight bytes per step.

const slices = 8;

function reflectedTables32(polynomial: number): Int32Array {
  const tables = new Int32Array(slices * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    tables[byte] = crc;
  }
  for (let index = 256; index < tables.length; index++) {
    const previous = tables[index - 256]!;
    tables[index] = (previous >>> 8) ^ tables[previous & 255]!;
  }
  return tables;
}

const crc32cTables = reflectedTables32(0x82f63b78);

/** Continues a CRC-32C; the first call passes 0. */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  const t = crc32cTables;
  const length = bytes.length;
  let crc = ~previous;
  let at = 0;
  for (; at + 8 <= length; at += 8) {
    const low = crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    crc =
      t[1792 + (low & 255)]! ^
      t[1536 + ((low >>> 8) & 255)]! ^
      t[1280 + ((low >>> 16) & 255)]! ^
      t[1024 + (low >>> 24)]! ^
      t[768 + bytes[at + 4]!]! ^
      t[512 + bytes[at + 5]!]! ^
      t[256 + bytes[at + 6]!]! ^
      t[bytes[at + 7]!]!;
  }
  for (; at < length; at++) crc = (crc >>> 8) ^ t[(crc ^ bytes[at]!) & 255]!;
  return ~crc >>> 0;
}

const crc64Polynomial = 0x9a6c9329ac4bc9b5n;
const crc64Low = new Int32Array(slices * 256);
const crc64High = new Int32Array(slices * 256);
for (let byte = 0; byte < 256; byte++) {
  let crc = BigInt(byte);
  for (let bit = 0; bit < 8; bit++) crc = crc & 1n ? (crc >> 1n) ^ crc64Polynomial : crc >> 1n;
  crc64Low[byte] = Number(crc & 0xffffffffn) | 0;
  crc64High[byte] = Number(crc >> 32n) | 0;
}
for (let index = 256; index < crc64Low.length; index++) {
  const low = crc64Low[index - 256]!;
  const high = crc64High[index - 256]!;
  crc64Low[index] = (low >>> 8) ^ (high << 24) ^ crc64Low[low & 255]!;
  crc64High[index] = (high >>> 8) ^ crc64High[low & 255]!;
}

/** A running CRC-64/NVME, kept as two 32-bit halves because BigInt arithmetic per byte is far too slow. */
export class Crc64Nvme {
  #low = -1;
  #high = -1;

  update(bytes: Uint8Array): void {
    const low = crc64Low;
    const high = crc64High;
    const length = bytes.length;
    let crcLow = this.#low;
    let crcHigh = this.#high;
    let at = 0;
    for (; at + 8 <= length; at += 8) {
      crcLow ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
      crcHigh ^= bytes[at + 4]! | (bytes[at + 5]! << 8) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 24);
      const a = 1792 + (crcLow & 255);
      const b = 1536 + ((crcLow >>> 8) & 255);
      const c = 1280 + ((crcLow >>> 16) & 255);
      const d = 1024 + (crcLow >>> 24);
      const e = 768 + (crcHigh & 255);
      const f = 512 + ((crcHigh >>> 8) & 255);
      const g = 256 + ((crcHigh >>> 16) & 255);
      const h = crcHigh >>> 24;
      crcLow = low[a]! ^ low[b]! ^ low[c]! ^ low[d]! ^ low[e]! ^ low[f]! ^ low[g]! ^ low[h]!;
      crcHigh = high[a]! ^ high[b]! ^ high[c]! ^ high[d]! ^ high[e]! ^ high[f]! ^ high[g]! ^ high[h]!;
    }
    for (; at < length; at++) {
      const index = (crcLow ^ bytes[at]!) & 255;
      crcLow = (crcLow >>> 8) ^ (crcHigh << 24) ^ low[index]!;
      crcHigh = (crcHigh >>> 8) ^ high[index]!;
    }
    this.#low = crcLow;
    this.#high = crcHigh;
  }

  digest(): Buffer {
    const digest = Buffer.alloc(8);
    digest.writeInt32BE(~this.#high, 0);
    digest.writeInt32BE(~this.#low, 4);
    return digest;
  }
}

function multiply(a: bigint, b: bigint, width: bigint, polynomial: bigint): bigint {
  let product = 0n;
  let shifted = b;
  for (let mask = 1n << (width - 1n); mask > 0n; mask >>= 1n) {
    if (a & mask) product ^= shifted;
    shifted = shifted & 1n ? (shifted >> 1n) ^ polynomial : shifted >> 1n;
  }
  return product;
}

const polynomials = { CRC32: 0xedb88320n, CRC32C: 0x82f63b78n, CRC64NVME: crc64Polynomial } as const;
export type CrcName = keyof typeof polynomials;

/** The CRC of two joined runs of bytes, from the CRC of each and the length of the second. */
export function combineCrc(name: CrcName, first: Buffer, second: Buffer, secondBytes: number): Buffer {
  const polynomial = polynomials[name];
  const width = BigInt(first.length * 8);
  let power = 1n << (width - 2n);
  let shift = 1n << (width - 1n);
  for (let bits = BigInt(secondBytes) * 8n; bits > 0n; bits >>= 1n) {
    if (bits & 1n) shift = multiply(power, shift, width, polynomial);
    power = multiply(power, power, width, polynomial);
  }
  const a = BigInt(`0x${first.toString('hex')}`);
  const b = BigInt(`0x${second.toString('hex')}`);
  const combined = multiply(shift, a, width, polynomial) ^ b;
  return Buffer.from(combined.toString(16).padStart(first.length * 2, '0'), 'hex');
}
