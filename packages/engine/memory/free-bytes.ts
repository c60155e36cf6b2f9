/**
 * Frees the memory at once instead of at the next garbage collection. Otherwise the temporary buffers of segments would
 * pile up to a multiple of what is in use. Only for bytes that nobody else holds: afterwards their length is zero.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  // Smaller ones may lie in a buffer that Node shares out in pieces.
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0);
}
