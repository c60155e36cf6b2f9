import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { adminType, encodeMessage, firestoreType } from '../protos.ts';
import { frame, MessageSplitter } from '../transport/framing.ts';
import { type CodeName, grpcCode } from '../transport/status.ts';

const messageBytesMax = 64 * 1024 * 1024;

export class RawError extends Error {
  readonly codeName: CodeName;

  constructor(code: number, message: string) {
    const codeName = (Object.keys(grpcCode) as CodeName[]).find((name) => grpcCode[name] === code) ?? 'UNKNOWN';
    super(`${codeName}: ${message}`);
    this.codeName = codeName;
  }
}

/** A decoded response: documents and values are bytes. */
// biome-ignore lint/suspicious/noExplicitAny: responses are read by tests field by field
export type Response = Record<string, any>;

/** Speaks gRPC to the sandbox without a client library, so that tests see the exact bytes. */
export class RawClient {
  readonly #session: ClientHttp2Session;
  token = 'owner';
  /** A `grpc-timeout` header to send, when not empty. */
  timeout = '';

  constructor(port: number) {
    this.#session = connect(`http://127.0.0.1:${port}`);
    this.#session.on('error', () => {});
  }

  close(): void {
    this.#session.close();
  }

  /** Drops the connection at once. */
  destroy(): void {
    this.#session.destroy();
  }

  async unary(method: string, request: object): Promise<Response> {
    const [response] = await this.stream(method, request);
    if (response === undefined) throw new Error(`${method} gave no response.`);
    return response;
  }

  /** Every response of a call, or the status it failed with. */
  async stream(method: string, request: object): Promise<Response[]> {
    const responses: Response[] = [];
    const conversation = this.converse(method, (response) => responses.push(response));
    conversation.send(request);
    conversation.end();
    await conversation.done;
    return responses;
  }

  converse(method: string, onResponse: (response: Response) => void): RawConversation {
    return new RawConversation(this.#session, method, this.#headers(), onResponse);
  }

  #headers(): Record<string, string> {
    const headers = { authorization: `Bearer ${this.token}` };
    return this.timeout === '' ? headers : { ...headers, 'grpc-timeout': this.timeout };
  }
}

export class RawConversation {
  /** Settles when the call ends: rejects unless its status is OK. */
  readonly done: Promise<void>;
  readonly #stream: ClientHttp2Stream;
  readonly #method: string;

  constructor(
    session: ClientHttp2Session,
    method: string,
    headers: Record<string, string>,
    onResponse: (response: Response) => void,
  ) {
    this.#method = method;
    const isAdmin = method === 'ListDatabases' || method === 'GetDatabase';
    const service = isAdmin ? 'google.firestore.admin.v1.FirestoreAdmin' : 'google.firestore.v1.Firestore';
    this.#stream = session.request({
      ':method': 'POST',
      ':path': `/${service}/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    const splitter = new MessageSplitter(messageBytesMax, 'identity');
    const type = responseTypeOf(method);
    this.#stream.on('data', (chunk: Buffer) => {
      for (const message of splitter.push(chunk)) onResponse(type.decode(message) as Response);
    });
    this.done = this.#finish();
    this.done.catch(() => {});
  }

  send(request: object): void {
    this.#stream.write(frame(encodeMessage(requestTypeOf(this.#method), request)));
  }

  end(): void {
    this.#stream.end();
  }

  /** Stops reading, so that the server runs into flow control. */
  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  cancel(): void {
    this.#stream.close();
  }

  async #finish(): Promise<void> {
    let status: string | undefined;
    let message = '';
    const take = (headers: Record<string, unknown>): void => {
      if (headers['grpc-status'] === undefined) return;
      status = String(headers['grpc-status']);
      message = decodeURIComponent(String(headers['grpc-message'] ?? ''));
    };
    this.#stream.on('response', take);
    this.#stream.on('trailers', take);
    this.#stream.on('error', () => {});
    await new Promise<void>((resolve) => this.#stream.once('close', resolve));
    if (status === undefined) throw new RawError(grpcCode.UNAVAILABLE, 'The stream broke without a status.');
    if (status !== '0') throw new RawError(Number(status), message);
  }
}

function requestTypeOf(method: string): ReturnType<typeof firestoreType> {
  return (method === 'ListDatabases' || method === 'GetDatabase' ? adminType : firestoreType)(`${method}Request`);
}

function responseTypeOf(method: string): ReturnType<typeof firestoreType> {
  if (method === 'GetDatabase') return adminType('Database');
  if (method === 'ListDatabases') return adminType('ListDatabasesResponse');
  if (['GetDocument', 'CreateDocument', 'UpdateDocument'].includes(method)) return firestoreType('Document');
  if (['DeleteDocument', 'Rollback'].includes(method)) return firestoreType('DocumentMask');
  return firestoreType(`${method}Response`);
}
