import type { Clock } from '../store/clock.ts';
import { encodeDocument } from '../store/document.ts';
import { encodeInteger, encodeString } from '../values/encode.ts';
import { documentEntry, encodeFields, splitDocument } from '../values/fields.ts';
import { type Micros, microsFrom, type TimestampMessage } from '../values/timestamp.ts';
import type { RawClient, Response } from './raw-client.ts';

export const database = 'projects/demo/databases/(default)';
export const root = `${database}/documents`;
export const name = { project: 'demo', database: '(default)' };

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  micros: Micros;

  constructor(micros: Micros = 1_750_000_000_000_000) {
    this.micros = micros;
  }

  nowMicros(): Micros {
    return this.micros;
  }
}

export function fields(entries: Record<string, number | string | Uint8Array>): Buffer {
  const encoded = Object.entries(entries).map(([name, value]): [string, Uint8Array] => [
    name,
    typeof value === 'number' ? encodeInteger(value) : typeof value === 'string' ? encodeString(value) : value,
  ]);
  return encodeFields(new Map(encoded), documentEntry);
}

export function documentBytes(path: string, content: Uint8Array): Buffer {
  return encodeDocument(Buffer.from(`${root}/${path}`), content, 0, 0);
}

export function setWrite(path: string, content: Uint8Array): { update: Buffer } {
  return { update: documentBytes(path, content) };
}

export async function set(client: RawClient, path: string, content: Uint8Array): Promise<Micros> {
  const response = await client.unary('Commit', { database: database, writes: [setWrite(path, content)] });
  return timeOf(response.commitTime);
}

export async function remove(client: RawClient, path: string): Promise<Micros> {
  const response = await client.unary('Commit', { database: database, writes: [{ delete: `${root}/${path}` }] });
  return timeOf(response.commitTime);
}

export function timeOf(message: unknown): Micros {
  return microsFrom(message as TimestampMessage);
}

/** The relative path of an encoded document. */
export function pathOf(document: Uint8Array): string {
  return splitDocument(document).name.slice(root.length + 1);
}

export function pathsOf(responses: readonly Response[]): string[] {
  return responses.filter((response) => response.document?.length > 0).map((response) => pathOf(response.document));
}

export interface QueryOptions {
  parent?: string;
  [option: string]: unknown;
}

/** Paths a structured query finds. */
export async function query(client: RawClient, structuredQuery: object, options: QueryOptions = {}): Promise<string[]> {
  const request = { parent: root, structuredQuery, ...options };
  return pathsOf(await client.stream('RunQuery', request));
}
