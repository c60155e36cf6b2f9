import { encodeTimestamp, type Micros } from '../values/timestamp.ts';
import { varintBytes, WireWriter } from '../values/wire.ts';

/**
 * One state of a document: the bytes of its google.firestore.v1.Document, ready to be sent, at a place in a slab.
 * A length of zero is a deletion.
 */
export interface Version {
  readonly slab: Buffer;
  readonly offset: number;
  readonly length: number;
  readonly createTime: Micros;
  readonly updateTime: Micros;
  previous: Version | null;
}

/** A document and its versions, newest first. It stays listed while any version is within the retention window. */
export interface DocumentEntry {
  readonly key: string;
  newest: Version | null;
}

const slabBytes = 1024 * 1024;
const ownSlabBytes = 64 * 1024;
const nothing = Buffer.alloc(0);
const nameTag = 0x0a;

/** The document's version as of `time`, or null when there was none then. */
export function versionAt(entry: DocumentEntry, time: Micros): Version | null {
  let version = entry.newest;
  while (version !== null && version.updateTime > time) version = version.previous;
  return version === null || version.length === 0 ? null : version;
}

export function versionBytes(version: Version): Buffer {
  return version.slab.subarray(version.offset, version.offset + version.length);
}

export function tombstone(time: Micros, previous: Version | null): Version {
  return { slab: nothing, offset: 0, length: 0, createTime: time, updateTime: time, previous };
}

/** Packs documents into slabs: a million small buffers would cost more memory than the documents in them. */
export class SlabAllocator {
  #slab = nothing;
  #used = 0;

  /** Encodes a document straight into a slab: its name, its field entries exactly as written, its times. */
  store(
    name: Uint8Array,
    fields: Uint8Array,
    createTime: Micros,
    updateTime: Micros,
    previous: Version | null,
  ): Version {
    const times = encodedTimes(createTime, updateTime);
    const length = 1 + varintBytes(name.length) + name.length + fields.length + times.length;
    const { slab, offset } = this.#place(length);
    let at = offset;
    slab[at++] = nameTag;
    for (let rest = name.length; ; rest >>>= 7) {
      if (rest < 0x80) {
        slab[at++] = rest;
        break;
      }
      slab[at++] = (rest & 0x7f) | 0x80;
    }
    slab.set(name, at);
    slab.set(fields, at + name.length);
    slab.set(times, at + name.length + fields.length);
    return { slab, offset, length, createTime, updateTime, previous };
  }

  #place(length: number): { slab: Buffer; offset: number } {
    if (length > ownSlabBytes) return { slab: Buffer.allocUnsafeSlow(length), offset: 0 };
    if (this.#used + length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#used = 0;
    }
    const offset = this.#used;
    this.#used += length;
    return { slab: this.#slab, offset };
  }
}

/** A Document of its own, outside any slab. */
export function encodeDocument(name: Uint8Array, fields: Uint8Array, createTime: Micros, updateTime: Micros): Buffer {
  return new WireWriter(name.length + fields.length + 48)
    .delimited(1, name)
    .raw(fields)
    .raw(encodedTimes(createTime, updateTime))
    .finish();
}

let lastTimes: { createTime: Micros; updateTime: Micros; bytes: Buffer } = {
  createTime: -1,
  updateTime: -1,
  bytes: nothing,
};

/** The two time fields of a Document. Loading writes many documents with the same times, so the last pair is kept. */
function encodedTimes(createTime: Micros, updateTime: Micros): Buffer {
  if (lastTimes.createTime === createTime && lastTimes.updateTime === updateTime) return lastTimes.bytes;
  const bytes = new WireWriter(48)
    .delimited(3, encodeTimestamp(createTime))
    .delimited(4, encodeTimestamp(updateTime))
    .finish();
  lastTimes = { createTime, updateTime, bytes };
  return bytes;
}
