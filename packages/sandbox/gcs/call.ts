import type { IncomingMessage } from 'node:http';
import type { Piece } from '../objects/contents.ts';
import { GcsError, notImplemented } from './errors.ts';
import type { SessionStart } from './model.ts';
import type { GcsState } from './state.ts';

/** Uploads that come in several requests. */
export interface ResumableUploads {
  start(start: SessionStart): string;
  receive(call: Call): Promise<Reply>;
  cancel(call: Call): Promise<Reply>;
}

export interface Call {
  state: GcsState;
  sessions: ResumableUploads;
  request: IncomingMessage;
  headers: Readonly<Record<string, string | undefined>>;
  query: ReadonlyMap<string, string>;
  /** The names in the path, in order. */
  names: readonly string[];
  baseUrl: string;
  /** Set by the fault plan: the position in the body, from 0 to 1, at which one byte is changed. */
  corruptAt?: number;
}

/** The answer as data, so that the server can send it, delay it, damage it or lose it. */
export interface Reply {
  status: number;
  headers?: Record<string, string>;
  json?: unknown;
  bytes?: { pieces: readonly Piece[]; start: number; end: number };
}

export interface Operation {
  name: string;
  method: string;
  /** With `*` for each name. */
  path: string;
  /** A query parameter that must have this value to select the operation. */
  when?: readonly [string, string];
  query?: readonly string[];
  writes: boolean;
  run(call: Call): Promise<Reply>;
}

const queryAlways = ['alt', 'fields', 'prettyPrint', 'projection'];
const jsonBytesMax = 1024 * 1024;

/** Refuses parameters that the operation would otherwise silently ignore. */
export function checkUnderstood(operation: Operation, query: ReadonlyMap<string, string>): void {
  for (const [name, value] of query) {
    const known = queryAlways.includes(name) || operation.when?.[0] === name || operation.query?.includes(name);
    if (!known) throw notImplemented(`Parameter ${name}=${value} of ${operation.name}`);
  }
  if (query.get('projection') === 'full') throw notImplemented('projection=full');
}

export async function readJson(request: AsyncIterable<Buffer>): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > jsonBytesMax) throw new GcsError('invalid', 'The request is too large.');
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString('utf8'));
}

export function parseJson(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  try {
    const parsed = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {}
  throw new GcsError('parseError', 'Parse Error');
}

export function integerParameter(query: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  if (!/^-?\d{1,16}$/.test(text)) throw new GcsError('invalid', `Invalid value for ${name}: ${text}`);
  return Number(text);
}
