import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import { afterAll, afterEach, expect, test } from 'vitest';
import { createOutbound } from '../../../platform/outbound/outbound.ts';
import { startWebhookReceiver, testAuthority, testCertificate } from '../../../testing/webhook-receiver.ts';
import { post } from './post.ts';

const { createAgent } = createOutbound({ allowedSubnets: ['127.0.0.0/8'], extraCertificates: [testAuthority] });
const agent = createAgent({ keepAliveMs: 1 });
const open: { close(): void }[] = [];
afterEach(() => {
  for (const endpoint of open.splice(0)) endpoint.close();
});
afterAll(() => agent.destroy());

const sendTo = (port: number, timeoutMs = 10_000) =>
  post(agent, { url: `https://localhost:${port}/`, headers: {}, body: '{}' }, timeoutMs);

/** An endpoint that answers with `head`, and then repeats the bytes of `again` without end, if given. */
async function startEndless(head: string, again = ''): Promise<{ port: number; closed: Promise<unknown> }> {
  const piece = Buffer.from(again.repeat(5000));
  let ended = (_: unknown) => {};
  const closed = new Promise((resolve) => {
    ended = resolve;
  });
  const server = createSecureServer(testCertificate, (socket) => {
    const goOn = () => {
      while (piece.length > 0 && !socket.destroyed && socket.write(piece));
    };
    socket.on('error', () => undefined).on('close', ended);
    socket.once('data', () => {
      socket.write(head);
      socket.on('drain', goOn);
      goOn();
    });
  });
  open.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, closed };
}

/** Accepts connections and runs `then` before anything is sent. */
async function startTcp(then: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    open.push({ close: () => socket.destroy() });
    then(socket.on('error', () => undefined));
  });
  open.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test('of an answer in pieces of one byte only some are read, and its status counts', async () => {
  const { port, closed } = await startEndless('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\na\r\n');
  const outcome = await sendTo(port);
  await closed;
  expect(outcome).toMatchObject({ success: true, statusCode: 200, error: null });
  expect(outcome.responseBody?.length).toBeLessThan(1100);
});

test('an endpoint that sends interim answers without end is given up', async () => {
  const { port, closed } = await startEndless('', 'HTTP/1.1 103 Early Hints\r\n\r\n');
  const outcome = await sendTo(port);
  await closed;
  expect(outcome).toMatchObject({ success: false, statusCode: null, timedOut: false });
  expect(outcome.error).toBe('The endpoint sent interim answers without end.');
});

test('a few interim answers are accepted', async () => {
  const announced = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(3);
  const { port } = await startEndless(`${announced}HTTP/1.1 204 No Content\r\n\r\n`);
  expect(await sendTo(port)).toMatchObject({ success: true, statusCode: 204 });
});

test('the timeout covers dialling: an endpoint that accepts the connection and stays silent is given up in time', async () => {
  const port = await startTcp(() => undefined);
  const outcome = await sendTo(port, 300);
  expect(outcome).toMatchObject({ timedOut: true, error: 'No complete answer came within 300 ms.' });
  expect(outcome.durationMs).toBeLessThan(5000);
});

test('nothing is sent over a connection that was ready too late', async () => {
  const receiver = await startWebhookReceiver();
  let dialled: (_: unknown) => void = () => undefined;
  const ready = new Promise((resolve) => {
    dialled = resolve;
  });
  const port = await startTcp((socket) => {
    setTimeout(() => {
      const through = connect(receiver.port, '127.0.0.1');
      through.on('error', () => undefined).on('close', dialled);
      socket.pipe(through).pipe(socket);
    }, 600);
  });
  expect(await sendTo(port, 300)).toMatchObject({ timedOut: true });
  await ready;
  expect(receiver.connections()).toBe(1);
  expect(receiver.received).toEqual([]);
  await receiver.close();
});
