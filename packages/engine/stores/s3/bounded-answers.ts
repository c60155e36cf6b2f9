import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import { AttemptError } from '../attempt.ts';

/** Larger than any page of a thousand names, however long and however they are escaped. */
const documentBytesMax = 4 * 1024 * 1024;
/** Ten thousand buckets have fewer. The parser takes its time for each, and all calls of the process wait for it. */
const tagsMax = 100_000;
const tagStart = 0x3c;

interface Answer {
  statusCode: number;
  body?: Readable;
}

/**
 * The client reads listings and error documents to their end, however long they are, so they are cut off here. Object
 * bodies are not: their readers count the bytes.
 */
export function boundAnswers(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (call) => {
      const result = await next(call);
      const answer = result.response as Answer;
      const { query } = call.request as { query?: Record<string, unknown> };
      const isObject = query?.['x-id'] === 'GetObject' && answer.statusCode < 300;
      if (answer.body && !isObject) answer.body = bounded(answer.body);
      return result;
    },
    { step: 'deserialize', priority: 'low', name: 'boundedAnswers' },
  );
}

function bounded(body: Readable): Readable {
  let length = 0;
  let tags = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      length += chunk.length;
      for (const byte of chunk) if (byte === tagStart) tags++;
      if (length <= documentBytesMax && tags <= tagsMax) return done(null, chunk);
      const most = tags > tagsMax ? `${tagsMax} tags` : `${documentBytesMax} bytes`;
      const message = `The storage answered with a document of more than ${most}.`;
      done(new AttemptError('STORAGE_UNAVAILABLE', message));
    },
  });
  pipeline(body, counter).catch(() => {});
  return counter;
}
