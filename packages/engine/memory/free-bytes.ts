/**
 * Gives memory back at once instead of at some later collection; what a segment is made of on its way would else pile
 * up to a multiple of what is in use. Only for bytes that nobody else can hold: afterwards they have no length.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  // Smaller ones may lie in a buffer that Node shares out in pieces.
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0);
}
