import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Deframer, frameMessage } from './deframer.ts';

test('messages come out whole, however the network cuts them', () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 });
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sent, cuts) => {
      const stream = Buffer.concat(sent.map((message) => frameMessage(message)));
      const received: string[] = [];
      const deframer = new Deframer((bytes, start, end) => received.push(bytes.toString('hex', start, end)));
      let position = 0;
      for (let index = 0; position < stream.length; index += 1) {
        const next = Math.min(stream.length, position + cuts[index % cuts.length]!);
        deframer.push(stream.subarray(position, next));
        position = next;
      }
      expect(received).toEqual(sent.map((message) => Buffer.from(message).toString('hex')));
      expect(deframer.isAtBoundary).toBe(true);
    }),
  );
});

test('a stream cut inside a message or its prefix is noticed', () => {
  const stream = frameMessage(Buffer.alloc(20));
  for (const length of [1, 4, 5, 24]) {
    const deframer = new Deframer(() => undefined);
    deframer.push(stream.subarray(0, length));
    expect(deframer.isAtBoundary).toBe(false);
  }
});

test('a compressed or monstrous message is refused, not guessed at', () => {
  const deframer = new Deframer(() => undefined);
  expect(() => deframer.push(Buffer.from([1, 0, 0, 0, 0]))).toThrow('compressed');
  expect(() => new Deframer(() => undefined).push(Buffer.from([0, 0xff, 0, 0, 0]))).toThrow('bytes');
});
