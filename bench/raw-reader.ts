import { once } from 'node:events';
import { connect } from 'node:http2';
import { encodeMessage, firestoreType } from '../packages/sandbox/firestore/protos.ts';
import { frame } from '../packages/sandbox/firestore/transport/framing.ts';

const windowBytes = 64 * 1024 * 1024;

export interface RawResult {
  readonly messages: number;
  readonly bytes: number;
  readonly seconds: number;
}

/**
 * As fast as Node can receive a collection: HTTP/2 DATA frames of one RunQuery stream, gRPC prefixes counted, every byte
 * thrown away. Nothing that keeps the documents can be faster.
 */
export async function readRaw(address: string, project: string, collection: string): Promise<RawResult> {
  const counter = new MessageCounter();
  const seconds = await streamQuery(address, project, collection, (chunk) => counter.add(chunk));
  return { messages: counter.messages, bytes: counter.bytes, seconds };
}

/** Every piece of a collection's RunQuery stream as it arrives. Answers how many seconds it took. */
export async function streamQuery(
  address: string,
  project: string,
  collection: string,
  onChunk: (chunk: Buffer) => void,
): Promise<number> {
  const session = connect(`http://${address}`, {
    settings: { initialWindowSize: windowBytes, maxFrameSize: 1024 * 1024 },
  });
  await once(session, 'connect');
  session.setLocalWindowSize(windowBytes);
  const request = encodeMessage(firestoreType('RunQueryRequest'), {
    parent: `projects/${project}/databases/(default)/documents`,
    structuredQuery: { from: [{ collectionId: collection }] },
  });
  const startedAtMs = performance.now();
  const stream = session.request({
    ':method': 'POST',
    ':path': '/google.firestore.v1.Firestore/RunQuery',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('data', onChunk);
  stream.end(frame(request));
  await once(stream, 'end');
  const seconds = (performance.now() - startedAtMs) / 1000;
  session.close();
  return seconds;
}

class MessageCounter {
  messages = 0;
  bytes = 0;
  #skip = 0;
  #prefix: number[] = [];

  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    let position = Math.min(this.#skip, chunk.length);
    this.#skip -= position;
    while (position < chunk.length) {
      this.#prefix.push(chunk[position]!);
      position += 1;
      if (this.#prefix.length < 5) continue;
      const [, first, second, third, fourth] = this.#prefix as [number, number, number, number, number];
      const length = ((first << 24) | (second << 16) | (third << 8) | fourth) >>> 0;
      this.#prefix = [];
      this.messages += 1;
      const step = Math.min(length, chunk.length - position);
      position += step;
      this.#skip = length - step;
    }
  }
}
