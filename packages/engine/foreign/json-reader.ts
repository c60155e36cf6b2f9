import { EngineError } from '../ports/errors.ts';
import { NumberText } from './number-text.ts';

/** Gives the next piece of a file, or undefined at its end. Never an empty piece. */
export type ByteSource = () => Uint8Array | undefined;

const jsonLimits = {
  /** For nested collections and maps; Firestore allows far less. */
  depth: 300,
  /** Longer than the longest double with all its digits; more digits only cost time. */
  numberLength: 1100,
  /** A document, and so every text in it, has at most 1 MiB; an escaped control character takes six bytes. */
  textBytes: 6 * 1024 * 1024,
  /** For values that have to be kept in memory at once, such as a document. */
  heldNodes: 200_000,
  heldBytes: 32 * 1024 * 1024,
  nodes: 100_000_000,
} as const;

const code = (text: string) => text.charCodeAt(0);
const [quote, backslash, colon, comma] = ['"', '\\', ':', ','].map(code) as [number, number, number, number];
const [openObject, closeObject, openArray, closeArray] = ['{', '}', '[', ']'].map(code) as [
  number,
  number,
  number,
  number,
];
const literals = new Map<number, [string, unknown]>([
  [code('t'), ['true', true]],
  [code('f'), ['false', false]],
  [code('n'), ['null', null]],
]);
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const numberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A cursor over JSON that is being read or was parsed before. */
export interface JsonCursor {
  readonly isObject: boolean;
  readonly isArray: boolean;
  /** The keys of the object at the cursor. The caller reads, enters or skips each value. */
  keys(): Iterable<string>;
  /** The same for the elements of an array. */
  elements(): Iterable<void>;
  /** The whole value at the cursor. */
  value(): unknown;
  skip(): void;
}

/**
 * Reads JSON from a stream of bytes, so that a file of any size takes little memory. The caller enters and leaves
 * objects and arrays, or takes them as whole values, which must not be large.
 */
export class JsonReader implements JsonCursor {
  readonly #source: ByteSource;
  readonly #name: string;
  #piece: Uint8Array = new Uint8Array(0);
  #at = 0;
  #depth = 0;
  #nodes = 0;
  #passed = 0;
  #held: { nodes: number; from: number } | undefined;
  /** For the current object: how many nodes its last key kept in memory. */
  #nodesOfKey = 0;
  /** The name of what is being read, for errors. */
  place = '';

  constructor(source: ByteSource, name: string) {
    this.#source = source;
    this.#name = name;
    if (this.#peek() === 0xef) for (const byte of [0xef, 0xbb, 0xbf]) this.#expect(byte);
  }

  get isObject(): boolean {
    return this.#beginning() === openObject;
  }

  get isArray(): boolean {
    return this.#beginning() === openArray;
  }

  *keys(): Generator<string> {
    this.#enter(openObject);
    let nodes = 0;
    for (let isFirst = true; !this.#isLeft(closeObject, isFirst); isFirst = false) {
      if (this.#beginning() !== quote) throw this.#broken();
      const key = this.#text();
      this.#beginning();
      this.#expect(colon);
      this.#nodesOfKey = 0;
      yield key;
      nodes += this.#nodesOfKey;
      if (nodes > jsonLimits.heldNodes) throw this.#tooManyValues();
    }
    this.#nodesOfKey = 0;
  }

  *elements(): Generator<void> {
    this.#enter(openArray);
    for (let isFirst = true; !this.#isLeft(closeArray, isFirst); isFirst = false) yield;
  }

  value(): unknown {
    const isOutermost = this.#held === undefined;
    this.#held ??= { nodes: 0, from: this.#passed + this.#at };
    const value = this.#value();
    if (isOutermost) {
      this.#nodesOfKey = this.#held.nodes;
      this.#held = undefined;
    }
    return value;
  }

  skip(): void {
    if (this.isObject) for (const _ of this.keys()) this.skip();
    else if (this.isArray) for (const _ of this.elements()) this.skip();
    else this.#scalar();
  }

  get isAtEnd(): boolean {
    return this.#beginning() === undefined;
  }

  /** Throws unless the input ends here. */
  finish(): void {
    if (!this.isAtEnd) throw this.#broken();
  }

  #value(): unknown {
    if (this.isObject) {
      const object: Record<string, unknown> = Object.create(null);
      for (const key of this.keys()) {
        if (key in object)
          throw this.#refused(`the key ${JSON.stringify(key.slice(0, 60))} stands twice in one object`);
        object[key] = this.#value();
      }
      return object;
    }
    if (!this.isArray) return this.#scalar();
    const array: unknown[] = [];
    for (const _ of this.elements()) array.push(this.#value());
    return array;
  }

  #scalar(): unknown {
    this.#count();
    const first = this.#beginning();
    if (first === quote) return this.#text();
    const literal = first === undefined ? undefined : literals.get(first);
    if (!literal) return this.#number();
    for (const byte of Buffer.from(literal[0])) this.#expect(byte);
    return literal[1];
  }

  #number(): unknown {
    let text = '';
    for (
      let byte = this.#peek();
      byte !== undefined && /[-+.0-9eE]/.test(String.fromCharCode(byte));
      byte = this.#peek()
    ) {
      text += String.fromCharCode(byte);
      this.#at++;
      if (text.length > jsonLimits.numberLength)
        throw this.#refused(`a number has more than ${jsonLimits.numberLength} digits`);
    }
    if (!numberPattern.test(text)) throw this.#broken();
    return new NumberText(text);
  }

  /** A text may be split anywhere between pieces, also inside a character. */
  #text(): string {
    this.#expect(quote);
    const parts: Uint8Array[] = [];
    let length = 0;
    let isEscaped = false;
    let isAfterBackslash = false;
    for (;;) {
      if (this.#peek() === undefined) throw this.#broken();
      const from = this.#at;
      const piece = this.#piece;
      for (; this.#at < piece.length; this.#at++) {
        const byte = piece[this.#at] as number;
        if (byte < 0x20) throw this.#broken();
        if (byte === quote && !isAfterBackslash) break;
        isAfterBackslash = byte === backslash && !isAfterBackslash;
        isEscaped ||= isAfterBackslash;
      }
      parts.push(piece.subarray(from, this.#at));
      length += this.#at - from;
      if (length > jsonLimits.textBytes) throw this.#refused(`a text has more than ${jsonLimits.textBytes} bytes`);
      if (this.#at < piece.length) break;
    }
    this.#at++;
    const text = this.#decode(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
    return isEscaped ? this.#unescape(text) : text;
  }

  /** Text in another encoding is refused: its letters would all become the same replacement character. */
  #decode(bytes: Uint8Array): string {
    try {
      return utf8.decode(bytes);
    } catch {
      throw this.#refused('it is not in UTF-8');
    }
  }

  #unescape(text: string): string {
    let unescaped: string;
    try {
      unescaped = JSON.parse(`"${text}"`) as string;
    } catch {
      throw this.#broken();
    }
    if (!unescaped.isWellFormed()) throw this.#refused('it holds half a character');
    return unescaped;
  }

  #enter(opening: number): void {
    this.#count();
    this.#beginning();
    this.#expect(opening);
    if (++this.#depth > jsonLimits.depth) throw this.#refused(`it is nested more than ${jsonLimits.depth} levels deep`);
  }

  #isLeft(closing: number, isFirst: boolean): boolean {
    const byte = this.#beginning();
    if (byte === closing) {
      this.#at++;
      this.#depth--;
      return true;
    }
    if (isFirst) return false;
    this.#expect(comma);
    if (this.#beginning() === closing) throw this.#broken();
    return false;
  }

  #count(): void {
    if (++this.#nodes > jsonLimits.nodes) throw this.#refused(`it has more than ${jsonLimits.nodes} values`);
    const held = this.#held;
    if (!held) return;
    if (++held.nodes > jsonLimits.heldNodes) throw this.#tooManyValues();
    if (this.#passed + this.#at - held.from > jsonLimits.heldBytes)
      throw this.#refused(`a document has more than ${jsonLimits.heldBytes} bytes`);
  }

  /** The first byte that is no space; undefined at the end. */
  #beginning(): number | undefined {
    for (;;) {
      const byte = this.#peek();
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at++;
    }
  }

  #peek(): number | undefined {
    while (this.#at >= this.#piece.length) {
      const piece = this.#source();
      if (piece === undefined) return undefined;
      this.#passed += this.#piece.length;
      this.#piece = piece;
      this.#at = 0;
    }
    return this.#piece[this.#at];
  }

  #expect(byte: number): void {
    if (this.#peek() !== byte) throw this.#broken();
    this.#at++;
  }

  #broken(): EngineError {
    return new EngineError(
      'VALIDATION_ERROR',
      `${this.#name} is not readable as JSON${this.#where}; it may be cut short.`,
    );
  }

  #refused(reason: string): EngineError {
    return new EngineError('VALIDATION_ERROR', `${this.#name} is refused${this.#where}: ${reason}.`);
  }

  #tooManyValues(): EngineError {
    return this.#refused(`a document has more than ${jsonLimits.heldNodes} values`);
  }

  get #where(): string {
    return this.place === '' ? '' : ` at ${this.place}`;
  }
}
