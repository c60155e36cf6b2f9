import { randomBytes } from 'node:crypto';
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
import { httpDate } from './conditions.ts';
import { errorDocument, S3Error } from './errors.ts';
import { findOperation, parseAddress } from './router.ts';
import { type S3Credential, verifySignature } from './signature/verify.ts';
import { S3State } from './state.ts';
import { renderXml } from './xml.ts';

export interface S3SandboxOptions {
  port?: number;
  host?: string;
  region?: string;
  /** Keys that may sign; one pair, `sandbox` and `sandbox-secret`, if absent. */
  credentials?: readonly S3Credential[];
  /** Buckets that exist from the start; in disk mode they keep their objects from an earlier run. */
  buckets?: readonly string[];
  /** A folder for all data; in memory if absent. */
  folder?: string;
  faults?: FaultProfile;
  now?: () => number;
  /** `bucket.<suffix>` in the Host header addresses a bucket. */
  hostSuffixes?: readonly string[];
}

export interface S3Sandbox {
  endpoint: string;
  port: number;
  region: string;
  faults: Faults;
  objects: S3State;
  stop(): Promise<void>;
}

export const sandboxS3Credential: S3Credential = { accessKeyId: 'sandbox', secretAccessKey: 'sandbox-secret' };

export async function startS3Sandbox(options: S3SandboxOptions = {}): Promise<S3Sandbox> {
  const { folder, host = '127.0.0.1', region = 'us-east-1', now = Date.now } = options;
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const catalogue = folder === undefined ? memoryCatalogue() : await diskCatalogue(folder);
  const contents = folder === undefined ? memoryContents() : diskContents(folder);
  const state = new S3State(catalogue, contents, now);
  for (const name of options.buckets ?? [])
    if (!state.buckets.get(name))
      await state.saveBucket({ name, region, createdAtMs: now(), versioning: 'Off', objectLock: false });
  const faults = new Faults();
  faults.set(options.faults ?? {});
  const { server, port, endpoint } = await listen(host, options.port ?? 0);
  const credentials = options.credentials ?? [sandboxS3Credential];
  const hostSuffixes = options.hostSuffixes ?? ['s3.localhost', 'localhost'];
  const handler = new Handler({ state, faults, credentials, region, now, endpoint, hostSuffixes });
  server.on('request', (request, response) => void handler.handle(request, response));
  return { endpoint, port, region, faults, objects: state, stop: () => stopServer(server, state) };
}

interface HandlerOptions {
  state: S3State;
  faults: Faults;
  credentials: readonly S3Credential[];
  region: string;
  now: () => number;
  endpoint: string;
  hostSuffixes: readonly string[];
}

class Handler {
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === controlPath) return handleControl(request, response, this.#options.faults);
    const requestId = randomBytes(8).toString('hex').toUpperCase();
    response.setHeader('x-amz-request-id', requestId);
    response.setHeader('x-amz-id-2', randomBytes(24).toString('base64'));
    response.setHeader('server', 'AmazonS3');
    // Clients set their clock by this header, so it must use the same clock as every other time here.
    response.setHeader('date', httpDate(this.#options.now()));
    // A client may go away at any time; without a listener that would end this process.
    request.on('error', () => {});
    response.on('error', () => {});
    try {
      await this.#answer(request, response);
    } catch (error) {
      await this.#answerError(request, response, requestId, error);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { state, faults, region, endpoint, hostSuffixes } = this.#options;
    const method = request.method ?? '';
    const address = parseAddress(request.url ?? '/', request.headers.host ?? '', hostSuffixes);
    const signature = verifySignature({ ...address, method, headers: request.headers }, this.#options);
    const operation = findOperation(method, address, request.headers);
    const plan = faults.plan(operation.name, operation.writes);
    if (plan.delayMs > 0) await sleep(plan.delayMs);
    if (plan.refuse) throw new S3Error(plan.refuse === 'error' ? 'InternalError' : 'SlowDown');
    const { query, headers } = unhoisted(address.query, request.headers as Record<string, string | undefined>);
    const call: Call = {
      state,
      bucketName: address.bucketName,
      key: address.key,
      query,
      headers,
      payload: { request, headers, signature, ...(plan.corruptWrite && { corruptAt: plan.position }) },
      region,
      baseUrl: endpoint,
    };
    checkPermission(signature.credential, operation.name, address.bucketName);
    checkUnderstood(operation, call);
    const reply = await operation.run(call);
    if (plan.loseAck) response.destroy();
    else await this.#send(request, response, reply, plan);
  }

  async #send(request: IncomingMessage, response: ServerResponse, reply: Reply, plan: FaultPlan): Promise<void> {
    request.resume();
    const headers = reply.headers ?? {};
    const { bytes } = reply;
    if (!bytes) return sendDocument(response, reply.status, headers, reply.xml ? renderXml(reply.xml) : '');
    const size = bytes.end - bytes.start;
    if (request.method === 'HEAD') {
      response.writeHead(reply.status, { ...headers, 'content-length': String(size) });
      response.end();
      return;
    }
    const { contents } = this.#options.state;
    for (const piece of bytes.pieces) contents.retain(piece);
    try {
      const chunks = readPieces(contents, bytes.pieces, bytes.start, bytes.end);
      await sendBytes(response, reply.status, headers, { size, chunks }, plan);
    } finally {
      this.#options.state.releaseAll(bytes.pieces);
    }
  }

  async #answerError(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    error: unknown,
  ): Promise<void> {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const known = error instanceof S3Error ? error : new S3Error('InternalError', String(error));
    const empty = request.method === 'HEAD' || known.status === 304;
    const resource = request.url?.split('?')[0] ?? '/';
    const body = empty ? '' : renderXml(errorDocument(known, resource, requestId));
    // The rest of a refused body is read and dropped: closing early would hide the answer from the client.
    request.resume();
    sendDocument(response, known.status, known.headers, body);
  }
}

/** A presigned address may have x-amz-* headers as parameters, with the same meaning. */
function unhoisted(parameters: readonly [string, string][], headers: Record<string, string | undefined>) {
  const query = new Map(parameters);
  const whole = { ...headers };
  for (const [name, value] of parameters) {
    if (!name.startsWith('x-amz-')) continue;
    query.delete(name);
    whole[name] ??= value;
  }
  return { query, headers: whole };
}

function sendDocument(response: ServerResponse, status: number, headers: Record<string, string>, body: string): void {
  const describe = body === '' ? {} : { 'content-type': 'application/xml' };
  const length = status === 204 || status === 304 ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { ...headers, ...describe, ...length });
  response.end(body);
}

function checkPermission(credential: S3Credential, operation: string, bucketName: string): void {
  const isOther = credential.buckets !== undefined && bucketName !== '' && !credential.buckets.includes(bucketName);
  if (isOther || credential.deny?.includes(operation))
    throw new S3Error('AccessDenied', `User: ${credential.accessKeyId} is not authorized to perform: s3:${operation}`);
}
