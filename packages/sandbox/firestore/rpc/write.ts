import { randomUUID } from 'node:crypto';
import { encodeMessage, firestoreType } from '../protos.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import type { WriteMessage } from '../store/write.ts';
import type { Call } from '../transport/call.ts';
import type { BidiMethod, Conversation } from '../transport/dispatch.ts';
import { invalid } from '../transport/status.ts';
import { parseDatabaseName } from '../values/name.ts';
import { timestampFrom } from '../values/timestamp.ts';
import { commitWrites } from './commit.ts';
import { decodeAs } from './decode-as.ts';

interface WriteRequest {
  database: string;
  streamId: string;
  writes: WriteMessage[];
  streamToken: Uint8Array;
}

const requestType = firestoreType('WriteRequest');
const responseType = firestoreType('WriteResponse');

export function writeMethod(sandbox: Sandbox): BidiMethod {
  return { kind: 'bidi', open: (call) => new WriteConversation(sandbox, call) };
}

/** A write stream: a handshake names the database, then each request commits its writes in order. */
class WriteConversation implements Conversation {
  readonly #sandbox: Sandbox;
  readonly #call: Call;
  #database: Database | null = null;
  #responses = 0;

  constructor(sandbox: Sandbox, call: Call) {
    this.#sandbox = sandbox;
    this.#call = call;
  }

  message(bytes: Buffer): void {
    const request = decodeAs<WriteRequest>(requestType, bytes);
    if (this.#database === null) this.#open(request);
    else this.#write(this.#database, request);
    this.#call.out.flush();
  }

  end(): void {
    this.#database = null;
  }

  #open(request: WriteRequest): void {
    if (request.writes.length > 0) throw invalid('The first request of a write stream must hold no writes.');
    this.#database = openDatabase(this.#sandbox, this.#call, parseDatabaseName(request.database), 'write');
    const streamId = request.streamId === '' ? randomUUID() : request.streamId;
    this.#call.out.send(encodeMessage(responseType, { streamId, streamToken: this.#nextToken() }));
  }

  #write(database: Database, request: WriteRequest): void {
    if (request.streamToken.length === 0) throw invalid('A request of a write stream must carry its stream token.');
    const { results, time } = commitWrites(this.#sandbox, database, request.writes);
    this.#sandbox.counters.method(this.#call.method).documents += results.length;
    this.#call.out.send(
      encodeMessage(responseType, {
        streamToken: this.#nextToken(),
        writeResults: results,
        commitTime: timestampFrom(time),
      }),
    );
  }

  #nextToken(): Buffer {
    this.#responses += 1;
    return Buffer.from(String(this.#responses));
  }
}
