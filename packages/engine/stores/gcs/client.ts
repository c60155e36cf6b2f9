import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { EngineError } from '../../ports/index.ts';
import { createStoreNetwork, type StoreNetwork } from '../network.ts';
import type { GcsCredentials } from './credentials.ts';
import { notUnderstood, ServiceError } from './errors.ts';
import { type HttpCall, readDocument, send } from './http.ts';
import { TokenSource } from './tokens.ts';

export interface GcsConnection {
  credentials: GcsCredentials;
  /** Needed to list buckets; taken from a service account's key when absent. */
  projectId?: string;
  /** Replaces Google's address; chosen by the operator, never by a tenant. */
  endpoint?: string;
  /** The same for the address that tokens come from. */
  tokenUrl?: string;
  network?: StoreNetwork;
}

type Query = Record<string, string | number | undefined>;
type Request = Pick<HttpCall, 'method' | 'signal'> & Partial<Pick<HttpCall, 'headers' | 'body'>> & { query?: Query };

const googleEndpoint = 'https://storage.googleapis.com';
const bucketPattern = /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/;

/** Cloud Storage's JSON interface as far as a store needs it. Every call is tried once. */
export class GcsClient {
  readonly #network: StoreNetwork;
  readonly #tokens: TokenSource;
  readonly #origin: URL;
  readonly #basePath: string;
  readonly projectId: string | undefined;

  constructor(connection: GcsConnection) {
    const { credentials, network = createStoreNetwork() } = connection;
    this.#network = network;
    this.#tokens = new TokenSource(network, credentials, connection.tokenUrl);
    this.#origin = originOf(connection.endpoint ?? googleEndpoint);
    this.#basePath = this.#origin.pathname.replace(/\/+$/, '');
    this.projectId = connection.projectId ?? ('projectId' in credentials ? credentials.projectId : undefined);
  }

  /** An answer that must be a JSON document. */
  async json(path: string, request: Request): Promise<unknown> {
    const text = await readDocument(await this.#call(`/storage/v1${path}`, request));
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw notUnderstood('document');
    }
  }

  /** An answer whose content does not matter. */
  async run(path: string, request: Request): Promise<void> {
    await readDocument(await this.#call(`/storage/v1${path}`, request));
  }

  /** The bytes of an object as they are stored, still to be read. */
  download(path: string, request: Request): Promise<IncomingMessage> {
    // A client that does not accept gzip gets the unpacked bytes of a packed object, and those have no checksum.
    const headers = { ...request.headers, 'accept-encoding': 'gzip' };
    return this.#call(`/storage/v1${path}`, { ...request, headers, query: { ...request.query, alt: 'media' } });
  }

  /**
   * One request for the whole object. Ours are a few MiB, and repeating a request is simpler than an upload session.
   */
  async upload(path: string, metadata: object, bytes: Uint8Array, request: Omit<Request, 'method'>): Promise<unknown> {
    const boundary = randomUUID();
    const description = JSON.stringify(metadata);
    const head = `--${boundary}\r\ncontent-type: application/json; charset=utf-8\r\n\r\n${description}\r\n--${boundary}\r\ncontent-type: application/octet-stream\r\n\r\n`;
    const answer = await this.#call(`/upload/storage/v1${path}`, {
      ...request,
      method: 'POST',
      headers: { 'content-type': `multipart/related; boundary=${boundary}` },
      body: [Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)],
      query: { ...request.query, uploadType: 'multipart' },
    });
    const text = await readDocument(answer);
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw notUnderstood('object');
    }
  }

  close(): void {
    this.#network.destroy();
  }

  async #call(path: string, request: Request, isSecond = false): Promise<IncomingMessage> {
    const token = await this.#tokens.get(request.signal);
    const answer = await this.#send(path, request, token);
    const { statusCode = 0 } = answer;
    if (statusCode >= 200 && statusCode < 300) return answer;
    const text = await readDocument(answer);
    if (statusCode === 401 && this.#tokens.refused(token) && !isSecond) return this.#call(path, request, true);
    throw ServiceError.of(statusCode, text);
  }

  #send(path: string, { query = {}, headers, ...call }: Request, token: string): Promise<IncomingMessage> {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
    const search = parameters.size === 0 ? '' : `?${parameters}`;
    return send(this.#network, {
      ...call,
      origin: this.#origin,
      path: `${this.#basePath}${path}${search}`,
      headers: { ...headers, authorization: `Bearer ${token}` },
    });
  }
}

export function bucketPath(bucket: string): string {
  if (!bucketPattern.test(bucket))
    throw new EngineError('VALIDATION_ERROR', `Not a bucket: ${JSON.stringify(bucket.slice(0, 100))}`);
  return `/b/${bucket}`;
}

function originOf(endpoint: string): URL {
  const url = URL.parse(endpoint);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.search !== '')
    throw new EngineError('VALIDATION_ERROR', 'The endpoint must be an http or https address.');
  return url;
}
