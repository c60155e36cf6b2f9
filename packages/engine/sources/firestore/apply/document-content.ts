import { emptySlices, sliceDocument } from './document-slices.ts';

const slices = emptySlices();

/** The fields of a serialized Document without name and times: this is what a faithful restore keeps. */
export function documentContent(document: Uint8Array): Uint8Array {
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength);
  sliceDocument(bytes, 0, bytes.length, slices);
  return slices.joined ?? bytes.subarray(slices.contentStart, slices.contentEnd);
}
