import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cutOffUnreadAnswers } from './streams.ts';

const app = fastify();
const answerBytes = 16 * 1024 * 1024;
/** A busy machine may stand still for some hundred milliseconds, which is not the reader's fault. */
const unreadMs = 1200;
let port: number;
beforeAll(async () => {
  cutOffUnreadAnswers(app, unreadMs);
  app.get('/large', async () => 'x'.repeat(answerBytes));
  app.get('/late', async () => sleep(1.5 * unreadMs, 'late'));
  port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
});
afterAll(() => app.close());

const connections = () => promisify(app.server.getConnections.bind(app.server))();

function ask(): Socket {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => undefined);
  socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
  return socket;
}

test('an answer that nobody reads is cut off', async () => {
  const silent = ask();
  await new Promise<void>((resolve) => silent.once('readable', () => resolve()));
  await expect.poll(connections).toBe(0);
  silent.destroy();
});

test('a slowly read answer is not cut off', async () => {
  const slow = ask();
  let taken = 0;
  slow.on('data', (chunk: Buffer) => {
    taken += chunk.length;
    slow.pause();
    setTimeout(() => slow.resume(), 9);
  });
  const startedMs = performance.now();
  await expect.poll(() => taken).toBeGreaterThan(answerBytes);
  expect(performance.now() - startedMs).toBeGreaterThan(1.5 * unreadMs);
  slow.destroy();
});

test('an answer that takes long to make is not cut off on a connection that had an answer before', async () => {
  const socket = connect({ host: '127.0.0.1', port });
  let heard = '';
  socket.on('data', (chunk: Buffer) => {
    heard += chunk;
  });
  for (const count of [1, 2]) {
    socket.write('GET /late HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => heard.split('200 OK').length - 1).toBe(count);
  }
  socket.destroy();
});
