import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Longer than clients keep idle connections, so that none is reused at the moment it is closed. */
const keepAliveMs = 120_000;

export interface Listening {
  readonly server: Server;
  readonly port: number;
  readonly endpoint: string;
}

/** A listening server without handlers; the caller adds them. Port 0 is any free one. */
export async function listen(host: string, port: number): Promise<Listening> {
  const server = createServer({ keepAlive: true, keepAliveTimeout: keepAliveMs, requestTimeout: 0 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return { server, port: address.port, endpoint: `http://${host}:${address.port}` };
}

/** Ends every connection, and closes the server's data. */
export async function stopServer(server: Server, state: { close(): Promise<void> }): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
  await state.close();
}
