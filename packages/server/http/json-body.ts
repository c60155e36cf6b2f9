import type { FastifyInstance } from 'fastify';
import { bodyFault } from './errors.ts';

/** Twice the size of the contract's largest list. Checking more would delay everybody else's calls. */
export const bodyValuesMax = 20_000;

/** Only JSON in UTF-8; an empty body counts as none. */
export function parseJsonOnly(app: FastifyInstance): void {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, buffer, done) => {
    if (buffer.length === 0) return done(null, undefined);
    if (countValues(buffer as Buffer) > bodyValuesMax)
      return done(bodyFault(`holds more than ${bodyValuesMax.toLocaleString('en')} values`));
    let text: string;
    try {
      text = decoder.decode(buffer as Buffer);
    } catch {
      return done(bodyFault('is not UTF-8'));
    }
    try {
      return done(null, JSON.parse(text));
    } catch {
      return done(bodyFault('is not valid JSON'));
    }
  });
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;

/**
 * The highest possible number of values in a JSON text, from its punctuation alone: a value is at the beginning, after
 * a comma or after an opening bracket. Parsing hundreds of thousands of them takes a hundred times as long as this.
 */
export function countValues(json: Uint8Array): number {
  let count = 1;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) isText = !isText;
    else if (isText) at += byte === backslash ? 1 : 0;
    else if (byte === comma || byte === openBracket || byte === openBrace) count++;
  }
  return count;
}
