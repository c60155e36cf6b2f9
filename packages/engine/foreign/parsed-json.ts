import type { JsonCursor } from './json-reader.ts';
import { NumberText } from './number-text.ts';

export type PlainObject = Record<string, unknown>;

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText);
}

export function isContainer(value: unknown): boolean {
  return isPlainObject(value) || Array.isArray(value);
}

/** A value that was parsed already, walked like JSON that is still being read. */
export class ParsedJson implements JsonCursor {
  #here: unknown;

  constructor(value: unknown) {
    this.#here = value;
  }

  get isObject(): boolean {
    return isPlainObject(this.#here);
  }

  get isArray(): boolean {
    return Array.isArray(this.#here);
  }

  *keys(): Generator<string> {
    for (const [key] of this.#enter(Object.entries(this.#here as PlainObject))) yield key;
  }

  *elements(): Generator<void> {
    for (const _ of this.#enter(Object.entries(this.#here as unknown[]))) yield;
  }

  value(): unknown {
    return this.#here;
  }

  skip(): void {}

  *#enter(entries: [string, unknown][]): Generator<[string, unknown]> {
    const outer = this.#here;
    for (const entry of entries) {
      this.#here = entry[1];
      yield entry;
    }
    this.#here = outer;
  }
}
