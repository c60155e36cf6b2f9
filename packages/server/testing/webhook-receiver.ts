import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

const read = (name: string) => readFileSync(new URL(`./certificates/${name}`, import.meta.url), 'utf8');

/** The authority behind the receiver's certificate. */
export const testAuthority = read('authority.pem');
export const testCertificate = { key: read('localhost.key'), cert: read('localhost.pem') };

/** What a service under test needs to reach the receiver. */
export const reachesReceiver = {
  environment: { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' },
  overrides: { outbound: { extraCertificates: [testAuthority] } },
};

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: string;
  atMs: number;
}

export interface WebhookReceiver {
  /** `https://localhost:<port>`, without a slash at the end. */
  readonly address: string;
  readonly port: number;
  readonly received: readonly ReceivedRequest[];
  /** Connections opened so far. */
  readonly connections: () => number;
  /** How requests to a path are answered from now on; 200 by default. */
  answer(path: string, how: (request: ReceivedRequest, response: ServerResponse) => void): void;
  to(path: string): ReceivedRequest[];
  /** Waits until a path has received this many requests. */
  arrivals(path: string, count: number, timeoutMs?: number): Promise<ReceivedRequest[]>;
  close(): Promise<void>;
}

/** A real HTTPS endpoint that remembers everything it receives. */
export async function startWebhookReceiver(host = '127.0.0.1'): Promise<WebhookReceiver> {
  const received: ReceivedRequest[] = [];
  const answers = new Map<string, (request: ReceivedRequest, response: ServerResponse) => void>();
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer(testCertificate, async (message, response) => {
    const request = await readRequest(message);
    received.push(request);
    const answer = answers.get(request.path);
    if (answer) answer(request, response);
    else response.writeHead(200).end('ok');
  });
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const to = (path: string) => received.filter((request) => request.path === path);
  return {
    address: `https://localhost:${port}`,
    port,
    received,
    connections: () => connections,
    answer: (path, how) => void answers.set(path, how),
    to,
    arrivals: (path, count, timeoutMs = 10_000) => waitFor(() => to(path), count, timeoutMs, path),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readRequest(message: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const { method = '', url = '', headers, rawHeaders } = message;
  return { method, path: url, headers, rawHeaders, body: Buffer.concat(chunks).toString('utf8'), atMs: Date.now() };
}

async function waitFor(
  look: () => ReceivedRequest[],
  count: number,
  timeoutMs: number,
  path: string,
): Promise<ReceivedRequest[]> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const found = look();
    if (found.length >= count) return found;
    if (performance.now() > deadlineMs) throw new Error(`${path} got ${found.length} of ${count} requests in time`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
