/** Finds the path and the fields of a serialized Document, as byte ranges, for a write. */

import { endOfVarint, MalformedMessage, readLength, readTag, skipField } from '../../../ports/wire.ts';

const nameTag = 0x0a;
const createTimeTag = 0x1a;
const updateTimeTag = 0x22;
const documents = Buffer.from('/documents/');

/** Reused from document to document: valid until the next call. */
export interface DocumentSlices {
  pathStart: number;
  pathEnd: number;
  /** All top-level fields but name and times. One run in what Firestore sends. */
  contentStart: number;
  contentEnd: number;
  /** Set when the content is not contiguous; then it is joined here. */
  joined: Buffer | undefined;
}

export function emptySlices(): DocumentSlices {
  return { pathStart: 0, pathEnd: 0, contentStart: 0, contentEnd: 0, joined: undefined };
}

export function sliceDocument(bytes: Buffer, start: number, end: number, slices: DocumentSlices): void {
  slices.pathEnd = 0;
  slices.contentStart = 0;
  slices.contentEnd = 0;
  slices.joined = undefined;
  let position = start;
  while (position < end) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    if (tag === nameTag) {
      const length = readLength(bytes, contentAt, end);
      const nameStart = endOfVarint();
      position = nameStart + length;
      slices.pathStart = pathStartOf(bytes, nameStart, position);
      slices.pathEnd = position;
      continue;
    }
    const next = skipField(bytes, tag, contentAt, end);
    if (tag !== createTimeTag && tag !== updateTimeTag) addContent(bytes, position, next, slices);
    position = next;
  }
  if (slices.pathEnd <= slices.pathStart) throw new MalformedMessage();
}

function addContent(bytes: Buffer, start: number, end: number, slices: DocumentSlices): void {
  if (slices.joined !== undefined) {
    slices.joined = Buffer.concat([slices.joined, bytes.subarray(start, end)]);
  } else if (slices.contentEnd === 0) {
    slices.contentStart = start;
    slices.contentEnd = end;
  } else if (slices.contentEnd === start) {
    slices.contentEnd = end;
  } else {
    const first = bytes.subarray(slices.contentStart, slices.contentEnd);
    slices.joined = Buffer.concat([first, bytes.subarray(start, end)]);
  }
}

function pathStartOf(bytes: Buffer, start: number, end: number): number {
  const marker = bytes.indexOf(documents, start);
  if (marker < 0 || marker + documents.length >= end) throw new MalformedMessage();
  return marker + documents.length;
}
