/** Reads a BatchWriteResponse: one result and one status per write; nearly all statuses are empty, which means OK. */

import type { Version } from '../../../ports/index.ts';
import { endOfVarint, MalformedMessage, readLength, readTag, readVarint, skipField } from '../../../ports/wire.ts';

const resultTag = 0x0a;
const statusTag = 0x12;
const updateTimeTag = 0x0a;
const codeTag = 0x08;
const messageTag = 0x12;

export interface WriteFailure {
  readonly index: number;
  readonly code: number;
  readonly message: string;
}

/** The failed writes. Throws when the answer does not mention every write: silence is not success. */
export function readFailures(bytes: Buffer, writes: number): WriteFailure[] {
  const failures: WriteFailure[] = [];
  let index = 0;
  let position = 0;
  while (position < bytes.length) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    const next = skipField(bytes, tag, contentAt, bytes.length);
    if (tag === statusTag) {
      const length = readLength(bytes, contentAt, bytes.length);
      if (length > 0) {
        const status = readStatus(bytes, next - length, next);
        if (status.code !== 0) failures.push({ index, ...status });
      }
      index += 1;
    }
    position = next;
  }
  if (index !== writes) throw new MalformedMessage();
  return failures;
}

function readStatus(bytes: Buffer, start: number, end: number): { code: number; message: string } {
  let code = 0;
  let message = '';
  let position = start;
  while (position < end) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    const next = skipField(bytes, tag, contentAt, end);
    if (tag === codeTag) code = readVarint(bytes, contentAt);
    if (tag === messageTag) message = bytes.toString('utf8', next - readLength(bytes, contentAt, end), next);
    position = next;
  }
  return { code, message };
}

/** The resulting version of each write; null when the answer has none, as for deletes and failures. */
export function readVersions(bytes: Buffer): (Version | null)[] {
  const versions: (Version | null)[] = [];
  let position = 0;
  while (position < bytes.length) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    const next = skipField(bytes, tag, contentAt, bytes.length);
    if (tag === resultTag) {
      const length = readLength(bytes, contentAt, bytes.length);
      versions.push(readVersion(bytes, next - length, next));
    }
    position = next;
  }
  return versions;
}

/** WriteResult { update_time = 1 { seconds = 1, nanos = 2 } } */
function readVersion(bytes: Buffer, start: number, end: number): Version | null {
  for (let position = start; position < end; ) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    const next = skipField(bytes, tag, contentAt, end);
    if (tag === updateTimeTag) return readTimestamp(bytes, next - readLength(bytes, contentAt, end), next);
    position = next;
  }
  return null;
}

function readTimestamp(bytes: Buffer, start: number, end: number): Version {
  const version = { seconds: 0, nanos: 0 };
  for (let position = start; position < end; ) {
    const tag = readTag(bytes, position);
    const value = readVarint(bytes, endOfVarint());
    if (value < 0) throw new MalformedMessage();
    if (tag === 0x08) version.seconds = value;
    if (tag === 0x10) version.nanos = value;
    position = endOfVarint();
  }
  return version;
}
