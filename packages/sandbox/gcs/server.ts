import { mkdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { diskCatalogue, memoryCatalogue } from '../objects/catalogue.ts';
import { diskContents, memoryContents, readPieces } from '../objects/contents.ts';
import { controlPath, handleControl } from '../objects/control.ts';
import { type FaultPlan, type FaultProfile, Faults } from '../objects/faults.ts';
import { listen, stopServer } from '../objects/listen.ts';
import { sendBytes } from '../objects/send.ts';
import { type Call, checkUnderstood, type Reply } from './call.ts';
import { errorBody, GcsError } from './errors.ts';
import { ResumableSessions } from './resumable.ts';
import { findRoute } from './router.ts';
import { GcsState } from './state.ts';

/** The identity of a bearer token. */
export interface GcsCaller {
  token: string;
  /** Operations answered with 403 for this caller, such as `DeleteObject`. */
  deny?: readonly string[];
  /** Buckets this caller may use; all if absent. */
  buckets?: readonly string[];
}

export interface GcsSandboxOptions {
  port?: number;
  host?: string;
  project?: string;
  /** Accepted callers; one, `sandbox-token`, if absent. */
  callers?: readonly GcsCaller[];
  /** Called for unknown tokens, so that another server can issue them. */
  isTokenValid?: (token: string) => boolean | Promise<boolean>;
  buckets?: readonly string[];
  /** A folder for all data; in memory if absent. */
  folder?: string;
  faults?: FaultProfile;
  now?: () => number;
}

export interface GcsSandbox {
  endpoint: string;
  port: number;
  project: string;
  faults: Faults;
  objects: GcsState;
  stop(): Promise<void>;
}

export const sandboxGcsToken = 'sandbox-token';

export async function startGcsSandbox(options: GcsSandboxOptions = {}): Promise<GcsSandbox> {
  const { folder, host = '127.0.0.1', project = 'sandbox', now = Date.now } = options;
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const catalogue = folder === undefined ? memoryCatalogue() : await diskCatalogue(folder);
  const contents = folder === undefined ? memoryContents() : diskContents(folder);
  const state = new GcsState(catalogue, contents, now);
  for (const name of options.buckets ?? [])
    if (!state.buckets.get(name)) await state.saveBucket(newBucket(name, project, now()));
  const faults = new Faults();
  faults.set(options.faults ?? {});
  const { server, port, endpoint } = await listen(host, options.port ?? 0);
  const handler = new Handler(state, faults, endpoint, options);
  server.on('request', (request, response) => void handler.handle(request, response));
  return { endpoint, port, project, faults, objects: state, stop: () => stopServer(server, state) };
}

function newBucket(name: string, project: string, nowMs: number) {
  return {
    name,
    project,
    location: 'US',
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    metageneration: 1,
    objectRetention: false,
  };
}

class Handler {
  readonly #state: GcsState;
  readonly #faults: Faults;
  readonly #baseUrl: string;
  readonly #callers: readonly GcsCaller[];
  readonly #isTokenValid: (token: string) => boolean | Promise<boolean>;
  readonly #sessions = new ResumableSessions();

  constructor(state: GcsState, faults: Faults, baseUrl: string, options: GcsSandboxOptions) {
    this.#state = state;
    this.#faults = faults;
    this.#baseUrl = baseUrl;
    this.#callers = options.callers ?? [{ token: sandboxGcsToken }];
    this.#isTokenValid = options.isTokenValid ?? (() => false);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === controlPath) return handleControl(request, response, this.#faults);
    // A client may go away at any time; without a listener that would end this process.
    request.on('error', () => {});
    response.on('error', () => {});
    response.setHeader('server', 'UploadServer');
    try {
      await this.#answer(request, response);
    } catch (error) {
      this.#answerError(request, response, error);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const headers = request.headers as Record<string, string | undefined>;
    const { operation, names, query } = findRoute(request.method ?? '', request.url ?? '/');
    // A session's address is its own permission, as in production.
    if (operation.name !== 'ContinueResumable') await this.#authorize(headers.authorization, operation.name, names);
    const plan = this.#faults.plan(operation.name, operation.writes);
    if (plan.delayMs > 0) await sleep(plan.delayMs);
    if (plan.refuse === 'error') throw new GcsError('backendError', 'Backend Error');
    if (plan.refuse === 'throttle')
      throw new GcsError('rateLimitExceeded', 'The rate of requests to this bucket is too high.');
    checkUnderstood(operation, query);
    const call: Call = {
      state: this.#state,
      sessions: this.#sessions,
      request,
      headers,
      query,
      names,
      baseUrl: this.#baseUrl,
      ...(plan.corruptWrite && { corruptAt: plan.position }),
    };
    const reply = await operation.run(call);
    if (plan.loseAck) response.destroy();
    else await this.#send(request, response, reply, plan);
  }

  async #authorize(authorization: string | undefined, operation: string, names: readonly string[]): Promise<void> {
    if (authorization === undefined)
      throw new GcsError('unauthenticated', 'Anonymous caller does not have storage access to the resource.', {
        'www-authenticate': 'Bearer realm="https://accounts.google.com/"',
      });
    const token = /^Bearer (.+)$/i.exec(authorization)?.[1] ?? '';
    const caller = this.#callers.find((one) => one.token === token);
    if (!caller && !(await this.#isTokenValid(token))) throw new GcsError('authError', 'Invalid Credentials');
    const isOther = caller?.buckets !== undefined && names[0] !== undefined && !caller.buckets.includes(names[0]);
    if (isOther || caller?.deny?.includes(operation))
      throw new GcsError('forbidden', `The caller does not have permission for ${operation} (or it may not exist).`);
  }

  async #send(request: IncomingMessage, response: ServerResponse, reply: Reply, plan: FaultPlan): Promise<void> {
    request.resume();
    const headers = reply.headers ?? {};
    if (!reply.bytes) return sendJson(response, reply.status, headers, reply.json);
    const { pieces, start, end } = reply.bytes;
    const { contents } = this.#state;
    for (const piece of pieces) contents.retain(piece);
    try {
      const chunks = readPieces(contents, pieces, start, end);
      await sendBytes(response, reply.status, headers, { size: end - start, chunks }, plan);
    } finally {
      this.#state.releaseAll(pieces);
    }
  }

  #answerError(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const known = error instanceof GcsError ? error : new GcsError('backendError', String(error));
    // The rest of a refused body is read and dropped: closing early would hide the answer from the client.
    request.resume();
    sendJson(response, known.status, known.headers, known.status === 304 ? undefined : errorBody(known));
  }
}

function sendJson(response: ServerResponse, status: number, headers: Record<string, string>, body: unknown): void {
  const text = body === undefined ? '' : JSON.stringify(body);
  const type = body === undefined ? {} : { 'content-type': 'application/json; charset=UTF-8' };
  const length = status === 204 || status === 304 ? {} : { 'content-length': String(Buffer.byteLength(text)) };
  response.writeHead(status, { ...headers, ...type, ...length });
  response.end(text);
}
