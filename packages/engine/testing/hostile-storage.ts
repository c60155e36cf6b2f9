import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Mischief = 'redirect' | 'endless' | 'silent' | 'trickle' | 'standing still' | 'rubbish' | 'false length';

export interface HostileStorage {
  readonly endpoint: string;
  mischief: Mischief;
  /** How many requests came, and how many bytes went out. */
  readonly seen: { requests: number; bytes: number; redirected: number };
  stop(): Promise<void>;
}

/** A server that a tenant might name as storage, and that means no good. */
export async function startHostileStorage(mischief: Mischief): Promise<HostileStorage> {
  const seen = { requests: 0, bytes: 0, redirected: 0 };
  const server = createServer((request, response) => {
    request.resume();
    seen.requests++;
    if (request.url?.startsWith('/elsewhere')) seen.redirected++;
    answers[storage.mischief](response, seen);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const storage: HostileStorage = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mischief,
    seen,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return storage;
}

type Answer = (response: ServerResponse, seen: HostileStorage['seen']) => void;

const answers: Record<Mischief, Answer> = {
  redirect: (response) => response.writeHead(307, { location: '/elsewhere' }).end(),
  endless: (response, seen) => {
    response.writeHead(200, { 'content-type': 'application/xml' });
    const piece = Buffer.alloc(256 * 1024, '<a>');
    const more = () => {
      while (!response.destroyed) {
        seen.bytes += piece.length;
        if (!response.write(piece)) return void response.once('drain', more);
      }
    };
    more();
  },
  silent: () => {},
  trickle: (response) => {
    response.writeHead(200, { 'content-length': '100000' });
    const timer = setInterval(() => response.write('x'), 20);
    response.once('close', () => clearInterval(timer));
  },
  'standing still': (response) =>
    response.writeHead(200, { 'content-type': 'application/xml' }).end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>on</NextContinuationToken>
       <Contents><Key>backups/a</Key><Size>1</Size></Contents></ListBucketResult>`,
    ),
  rubbish: (response) => response.writeHead(200, { 'content-type': 'application/xml' }).end('{"items":[{}]}'),
  'false length': (response) => response.writeHead(200, { 'content-length': String(2 ** 40) }).end('x'),
};
