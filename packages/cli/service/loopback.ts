import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The parameters with which the service sent the browser back. */
export interface SignInAnswer {
  readonly code?: string;
  readonly error?: string;
}

const host = '127.0.0.1';
/** The path that the service allows. */
const path = '/signed-in';
const connectionsMax = 20;
const requestMs = 10_000;

const page = (title: string, text: string) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>${title}</title>
<h1>${title}</h1><p>${text}</p></html>
`;

/** Listens on any free port of this machine for the one answer to the sign-in with this state. */
export class Loopback {
  readonly #server: Server;
  readonly #state: string;
  readonly answer: Promise<SignInAnswer>;

  private constructor(server: Server, state: string) {
    this.#server = server;
    this.#state = state;
    this.answer = new Promise((resolve) => {
      server.on('request', (request: IncomingMessage, response: ServerResponse) =>
        this.#respond(request, response, resolve),
      );
    });
  }

  static async open(state: string): Promise<Loopback> {
    const server = createServer({ headersTimeout: requestMs, requestTimeout: requestMs });
    server.maxConnections = connectionsMax;
    const loopback = new Loopback(server, state);
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve));
    return loopback;
  }

  get redirectUri(): string {
    return `http://${host}:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** The answer in the browser's final address; undefined when it is for another sign-in, or has none. */
  read(address: string): SignInAnswer | undefined {
    const url = URL.parse(address, this.redirectUri);
    if (url?.pathname !== path || !isSame(url.searchParams.get('state') ?? '', this.#state)) return undefined;
    const [code, error] = [url.searchParams.get('code'), url.searchParams.get('error')];
    if (error !== null) return { error };
    return code === null ? undefined : { code };
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Anybody on this machine can send a request; only one with the right state counts, and only once. */
  #respond(request: IncomingMessage, response: ServerResponse, onAnswer: (answer: SignInAnswer) => void): void {
    const answer = request.method === 'GET' ? this.read(request.url ?? '') : undefined;
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.setHeader('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
    response.setHeader('referrer-policy', 'no-referrer');
    response.setHeader('cache-control', 'no-store');
    response.setHeader('connection', 'close');
    if (answer === undefined) {
      response.writeHead(404).end(page('Not this sign-in', 'Start again with <code>holdfast login</code>.'));
      return;
    }
    const text = 'You can close this window: the terminal says the rest.';
    response.once('close', () => onAnswer(answer));
    response.end(page(answer.error === undefined ? 'Thank you' : 'Not signed in', text));
  }
}

function isSame(left: string, right: string): boolean {
  const [given, wanted] = [Buffer.from(left), Buffer.from(right)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
