/** Reads a BatchWriteResponse: one status per write, nearly all of them empty, which means OK. */

import { endOfVarint, MalformedMessage, readLength, readTag, readVarint, skipField } from '../../../ports/wire.ts';

const statusTag = 0x12;
const codeTag = 0x08;
const messageTag = 0x12;

export interface WriteFailure {
  readonly index: number;
  readonly code: number;
  readonly message: string;
}

/** The writes that failed. Throws when the answer does not speak of every write: silence is not success. */
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
