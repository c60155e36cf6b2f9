import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Call } from './call.ts';
import { MessageSplitter } from './framing.ts';
import { GrpcCall } from './grpc-call.ts';
import { asRpcError, invalid, RpcError } from './status.ts';

/** Firestore's documented limit on one request. */
export const requestBytesMax = 10 * 1024 * 1024;

export interface UnaryMethod {
  readonly kind: 'unary';
  handle(request: Buffer, call: Call): Uint8Array | Promise<Uint8Array>;
}

export interface ServerStreamMethod {
  readonly kind: 'serverStream';
  handle(request: Buffer, call: Call): void | Promise<void>;
}

/** A conversation: messages arrive one at a time, each handled before the next. */
export interface Conversation {
  message(request: Buffer): void | Promise<void>;
  end(): void;
}

export interface BidiMethod {
  readonly kind: 'bidi';
  open(call: Call): Conversation;
}

export type Method = UnaryMethod | ServerStreamMethod | BidiMethod;

/** Wraps every call: faults may delay or refuse it, counters record its end. */
export interface CallGuard {
  before(call: Call): Promise<void> | void;
  after(call: Call, error: RpcError | null): void;
}

/** Routes `/service/Method` to its handler and converts whatever it throws into a gRPC status. */
export class Dispatcher {
  readonly #methods: ReadonlyMap<string, Method>;
  readonly #guard: CallGuard;
  readonly #settled = new WeakSet<Call>();

  constructor(methods: ReadonlyMap<string, Method>, guard: CallGuard) {
    this.#methods = methods;
    this.#guard = guard;
  }

  accept(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const path = headers[':path'] ?? '';
    const call = new GrpcCall(path.slice(path.lastIndexOf('/') + 1), stream, headers);
    const method = this.#methods.get(path);
    if (method === undefined) {
      call.fail(new RpcError('UNIMPLEMENTED', `The sandbox does not offer ${path}.`));
      return;
    }
    const splitter = new MessageSplitter(requestBytesMax, String(headers['grpc-encoding'] ?? 'identity'));
    if (method.kind === 'bidi') this.#converse(method, call, stream, splitter);
    else this.#answerOne(method, call, stream, splitter);
  }

  /** Answers a request that did not come over gRPC. */
  async answer(path: string, call: Call, request: () => Buffer): Promise<void> {
    const method = this.#methods.get(path);
    if (method === undefined || method.kind === 'bidi') throw new Error(`${path} takes no single request.`);
    await this.#run(method, call, request);
  }

  #answerOne(
    method: UnaryMethod | ServerStreamMethod,
    call: Call,
    stream: ServerHttp2Stream,
    splitter: MessageSplitter,
  ): void {
    let request: Buffer | undefined;
    stream.on('data', (chunk: Buffer) => {
      if (call.closed) return;
      try {
        request = splitter.push(chunk)[0] ?? request;
      } catch (error) {
        void this.#fail(call, error);
      }
    });
    stream.once('end', () => {
      if (call.closed) return;
      if (request === undefined) void this.#fail(call, invalid('The request holds no message.'));
      else void this.#run(method, call, () => request!);
    });
  }

  async #run(method: UnaryMethod | ServerStreamMethod, call: Call, request: () => Buffer): Promise<void> {
    try {
      await this.#guard.before(call);
      if (call.closed) {
        this.#settle(call, null);
        return;
      }
      const response = await method.handle(request(), call);
      if (response instanceof Uint8Array) call.out.send(response);
      await call.finish();
      this.#settle(call, null);
    } catch (error) {
      await this.#fail(call, error);
    }
  }

  #converse(method: BidiMethod, call: Call, stream: ServerHttp2Stream, splitter: MessageSplitter): void {
    let conversation: Conversation | undefined;
    const inOrder = serial(async (step: () => Promise<void>) => {
      if (call.closed) return;
      try {
        await step();
      } catch (error) {
        conversation?.end();
        void this.#fail(call, error);
      }
    });
    inOrder(async () => {
      await this.#guard.before(call);
      conversation = method.open(call);
    });
    stream.on('data', (chunk: Buffer) => {
      if (call.closed) return;
      try {
        for (const message of splitter.push(chunk)) inOrder(async () => conversation?.message(message));
      } catch (error) {
        void this.#fail(call, error);
      }
    });
    stream.once('end', () =>
      inOrder(async () => {
        conversation?.end();
        call.finish();
      }),
    );
    call.onClose(() => {
      conversation?.end();
      this.#settle(call, null);
    });
  }

  async #fail(call: Call, error: unknown): Promise<void> {
    const status = asRpcError(error);
    await call.fail(status);
    this.#settle(call, status);
  }

  /** A call is counted once, however many times it ends. */
  #settle(call: Call, error: RpcError | null): void {
    if (this.#settled.has(call)) return;
    this.#settled.add(call);
    this.#guard.after(call, error);
  }
}

/** Runs tasks one after the other. */
function serial<Task>(run: (task: Task) => Promise<void>): (task: Task) => void {
  let last = Promise.resolve();
  return (task) => {
    last = last.then(() => run(task));
  };
}
