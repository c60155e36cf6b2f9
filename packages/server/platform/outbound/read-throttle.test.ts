import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ReadThrottle } from './read-throttle.ts';

/** A connection with ten thousand pieces ready to be read. */
const neverSilent = () => {
  let left = 10_000;
  return new Duplex({
    readableHighWaterMark: 1,
    read() {
      left -= 1;
      queueMicrotask(() => this.push(left > 0 ? 'piece' : null));
    },
    write: (_chunk, _encoding, done) => done(),
  });
};

function parseFor(milliseconds: number): void {
  const endMs = performance.now() + milliseconds;
  while (performance.now() < endMs);
}

test('connections whose pieces take long to parse are read one after the other, and none is forgotten', {
  tags: 'long',
}, async () => {
  const turns = new ReadThrottle();
  const pieces = new Map<Duplex, number>();
  const connections = Array.from({ length: 5 }, neverSilent);
  for (const connection of connections) {
    turns.slow(connection);
    connection.on('data', () => {
      parseFor(3);
      pieces.set(connection, (pieces.get(connection) ?? 0) + 1);
    });
  }
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  for (const connection of connections) connection.destroy();
  const counts = connections.map((connection) => pieces.get(connection) ?? 0);
  expect(Math.min(...counts)).toBeGreaterThan(10);
  // Data that was already on its way when a connection was paused comes with the next piece.
  expect(counts.reduce((sum, count) => sum + count)).toBeLessThan(300);
});

test('connections with quickly parsed pieces do not wait for each other', async () => {
  const turns = new ReadThrottle();
  const connections = Array.from({ length: 5 }, neverSilent);
  let pieces = 0;
  for (const connection of connections) {
    turns.slow(connection);
    connection.on('data', () => {
      pieces += 1;
    });
  }
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  for (const connection of connections) connection.destroy();
  expect(pieces).toBeGreaterThan(1000);
});

test('a connection that its reader paused gets nothing more, and a closed one is skipped', async () => {
  const turns = new ReadThrottle();
  const [full, closed] = [neverSilent(), neverSilent()];
  let taken = 0;
  for (const connection of [full, closed]) turns.slow(connection);
  full.on('data', () => {
    taken += 1;
    full.pause();
  });
  closed.on('data', () => closed.destroy());
  for (let turn = 0; turn < 50; turn += 1) await nextTurn();
  expect(taken).toBe(1);
  full.resume();
  for (let turn = 0; turn < 50; turn += 1) await nextTurn();
  expect(taken).toBe(2);
  full.destroy();
});
