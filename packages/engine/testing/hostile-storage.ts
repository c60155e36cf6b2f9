import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type Answer, answers, type Mischief } from './hostile-answers.ts';

export { type Mischief, mischiefs } from './hostile-answers.ts';

/** What a call to a store may end with, whatever the storage does. Least of all with CANCELLED: nobody has. */
export const storeErrorCodes: readonly string[] = [
  'STORAGE_UNAVAILABLE',
  'STORAGE_PERMISSION_DENIED',
  'STORAGE_NOT_FOUND',
  'STORAGE_CONFLICT',
  'STORAGE_UPLOAD_ERROR',
  'INTEGRITY_ERROR',
  'VALIDATION_ERROR',
];

export interface HostileStorage {
  readonly endpoint: string;
  /** What it does to every request, or to the one that is asked about. */
  mischief: Mischief | 'honest' | ((request: IncomingMessage) => Mischief | 'honest');
  /** How many requests came, how many bytes went out, and who followed a redirect. */
  readonly seen: { requests: number; bytes: number; redirected: number };
  stop(): Promise<void>;
}

/** A server that a tenant might name as storage, and that means no good. Where it is honest, `behind` answers for it. */
export async function startHostileStorage(
  mischief: HostileStorage['mischief'],
  behind?: string,
): Promise<HostileStorage> {
  const seen = { requests: 0, bytes: 0, redirected: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((incoming, response) => {
    // Whoever goes away in the middle is no concern of ours.
    incoming.on('error', () => {});
    response.on('error', () => {});
    seen.requests++;
    if (incoming.url?.startsWith('/elsewhere')) seen.redirected++;
    const { mischief: chosen } = storage;
    const done = typeof chosen === 'function' ? chosen(incoming) : chosen;
    if (done === 'honest') return forward(incoming, response, behind ?? '');
    incoming.resume();
    const answer: Answer = answers[done];
    answer({ response, seen, isGoogle: /^\/(upload\/)?storage\/v1/.test(incoming.url ?? '') });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const storage: HostileStorage = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mischief,
    seen,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return storage;
}

/** The very same request, its host header too: signatures cover it. */
function forward(incoming: IncomingMessage, response: ServerResponse, behind: string): void {
  const { hostname, port } = new URL(behind);
  const { method, url, headers } = incoming;
  const onward = request({ hostname, port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  incoming.pipe(onward);
}
