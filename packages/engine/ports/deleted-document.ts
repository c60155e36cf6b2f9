import { type Instant, instantToParts } from './instant.ts';
import { varintBytes, writeVarint } from './wire.ts';

/** The body of a delete: a Document with a name and, as its update time, the moment when it was seen to be deleted. */
export function encodeDeletedDocument(name: string, goneAt: Instant): Buffer {
  const nameBytes = Buffer.byteLength(name);
  const time = encodeTimestamp(goneAt);
  const body = Buffer.allocUnsafe(2 + varintBytes(nameBytes) + nameBytes + 1 + time.length);
  let position = 0;
  body[position++] = 0x0a;
  position = writeVarint(body, position, nameBytes);
  position += body.write(name, position);
  body[position++] = 0x22;
  position = writeVarint(body, position, time.length);
  time.copy(body, position);
  return body;
}

function encodeTimestamp(instant: Instant): Buffer {
  const { seconds, nanos } = instantToParts(instant);
  const bytes = Buffer.allocUnsafe(2 + varintBytes(seconds) + varintBytes(nanos));
  let position = 0;
  bytes[position++] = 0x08;
  position = writeVarint(bytes, position, seconds);
  if (nanos === 0) return bytes.subarray(0, position);
  bytes[position++] = 0x10;
  position = writeVarint(bytes, position, nanos);
  return bytes.subarray(0, position);
}
