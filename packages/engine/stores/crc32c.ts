/** CRC-32C (Castagnoli), which Node does not offer; LevelDB logs are guarded with it, and Cloud Storage's composed objects. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
});

export function crc32c(bytes: Uint8Array, seed = 0): number {
  let value = ~seed;
  for (let index = 0; index < bytes.length; index += 1) value = table[(value ^ bytes[index]!) & 0xff]! ^ (value >>> 8);
  return ~value >>> 0;
}

/** LevelDB stores checksums rotated and offset, so that a checksum of checksums means something. */
export function maskedCrc32c(type: number, payload: Uint8Array): number {
  const crc = crc32c(payload, crc32c(Uint8Array.of(type)));
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
