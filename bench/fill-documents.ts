import type { Database } from '../packages/sandbox/firestore/store/database.ts';
import {
  encodeArray,
  encodeBoolean,
  encodeDouble,
  encodeInteger,
  encodeReference,
  encodeString,
  encodeTimestampValue,
} from '../packages/sandbox/firestore/values/encode.ts';
import { documentEntry, encodeFields, encodeMapValue } from '../packages/sandbox/firestore/values/fields.ts';

/** Numbers that look random and are the same every time (xorshift). */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 1;
  }

  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % limit;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const syllables =
  'ka lo mi ren tus vel dor fi gan hul jes kri lam nop qui ras sto tem ur vax wen yl zor be cho dri'.split(' ');
const loadBatch = 10_000;
const epochMicros = 1_700_000_000_000_000;

/** A vocabulary of some 5,000 words, so that text compresses like text and not like one sentence repeated. */
function vocabulary(random: Random): string[] {
  return Array.from({ length: 5000 }, () =>
    Array.from({ length: 1 + random.below(3) }, () => random.pick(syllables)).join(''),
  );
}

const yearSeconds = 31_536_000;

/** Shop orders of about 600 bytes with random 20-character ids, no two alike: what an app writes. */
export function fillDocuments(
  database: Database,
  { collection, documents, seed = 1, isOverAYear = false }: FillOptions,
): void {
  const random = new Random(seed);
  const ages = new Random(seed + 1);
  const ageMicros = () => (1 + ages.below(yearSeconds)) * 1_000_000 + ages.below(1_000_000);
  const words = vocabulary(random);
  const time = database.nextCommitTime();
  let changed = [];
  for (let index = 0; index < documents; index += 1) {
    const id = randomId(random);
    const name = Buffer.from(`${database.documentsRoot}/${collection}/${id}`);
    const fields = orderFields(random, words, database.documentsRoot);
    const [younger, older] = isOverAYear ? [ageMicros(), ageMicros()].sort((left, right) => left - right) : [0, 0];
    changed.push(database.put(`${collection}\u0000${id}`, name, fields, time - older!, time - younger!));
    if (changed.length < loadBatch) continue;
    database.committed(changed, time);
    changed = [];
  }
  database.committed(changed, time);
}

/** The fields of some orders, encoded, no two alike. */
export function sampleOrders(count: number, documentsRoot: string): Buffer[] {
  const random = new Random(1);
  const words = vocabulary(random);
  return Array.from({ length: count }, () => orderFields(random, words, documentsRoot));
}

/** Writes every n-th document of a collection anew, with other contents; returns how many. */
export function changeDocuments(database: Database, collection: string, every: number): number {
  const random = new Random(99);
  const words = vocabulary(random);
  const time = database.nextCommitTime();
  const ids: string[] = [];
  let seen = 0;
  for (let leaf = 0; database.all.leaf(leaf) !== undefined; leaf += 1) {
    for (const { key } of database.all.leaf(leaf)!) {
      const [first, id] = key.split('\u0000');
      if (first !== collection || id === undefined) continue;
      if (seen % every === 0) ids.push(id);
      seen += 1;
    }
  }
  const changed = ids.map((id) => {
    const name = Buffer.from(`${database.documentsRoot}/${collection}/${id}`);
    return database.put(
      `${collection}\u0000${id}`,
      name,
      orderFields(random, words, database.documentsRoot),
      time,
      time,
    );
  });
  database.committed(changed, time);
  return changed.length;
}

export interface SteadyWrites {
  readonly collections: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Of the ids, so that each write is of a document of its own. */
  readonly prefix: string;
}

const steadyTickMs = 20;
const steadyVariants = 200;

/** Writes new documents at an even rate, each in a commit of its own; returns how many. */
export async function writeSteadily(database: Database, options: SteadyWrites): Promise<number> {
  const random = new Random(7);
  const words = vocabulary(random);
  const variants = Array.from({ length: steadyVariants }, () => orderFields(random, words, database.documentsRoot));
  const total = options.perSecond * options.seconds;
  const startedMs = performance.now();
  let written = 0;
  while (written < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startedMs) / 1000) * options.perSecond));
    for (; written < due; written += 1) {
      const collection = `c${written % options.collections}`;
      const id = `${options.prefix}${written}`;
      const time = database.nextCommitTime();
      const name = Buffer.from(`${database.documentsRoot}/${collection}/${id}`);
      const entry = database.put(`${collection}\u0000${id}`, name, variants[written % steadyVariants]!, time, time);
      database.committed([entry], time);
    }
    await new Promise((resolve) => setTimeout(resolve, steadyTickMs));
  }
  return written;
}

export interface FillOptions {
  readonly collection: string;
  readonly documents: number;
  readonly seed?: number;
  /** Each was created and last changed at moments of its own within the past year, and not all of them just now. */
  readonly isOverAYear?: boolean;
}

function randomId(random: Random): string {
  let id = '';
  for (let index = 0; index < 20; index += 1) id += alphabet[random.below(62)];
  return id;
}

const statuses = ['open', 'paid', 'packed', 'shipped', 'delivered', 'returned', 'cancelled'];
const currencies = ['EUR', 'USD', 'GBP', 'CHF', 'SEK'];
const countries = ['DE', 'FR', 'US', 'GB', 'CH', 'SE', 'IT', 'ES'];

function orderFields(random: Random, words: readonly string[], documentsRoot: string): Buffer {
  const word = () => random.pick(words);
  const sentence = (length: number) => Array.from({ length }, word).join(' ');
  const price = () => encodeDouble(random.below(100_000) / 100);
  const instant = () => encodeTimestampValue(epochMicros + random.below(31_536_000) * 1_000_000);
  const item = () =>
    encodeMapValue(
      new Map([
        ['sku', encodeString(`SKU-${random.below(100_000)}`)],
        ['title', encodeString(sentence(2))],
        ['quantity', encodeInteger(1 + random.below(9))],
        ['unitPrice', price()],
      ]),
    );
  const address = new Map([
    ['street', encodeString(`${word()} ${random.below(200)}`)],
    ['city', encodeString(word())],
    ['postalCode', encodeString(String(10_000 + random.below(90_000)))],
    ['country', encodeString(random.pick(countries))],
  ]);
  const fields = new Map<string, Uint8Array>([
    ['status', encodeString(random.pick(statuses))],
    ['currency', encodeString(random.pick(currencies))],
    ['customer', encodeReference(`${documentsRoot}/customers/${randomId(random)}`)],
    ['email', encodeString(`${word()}.${random.below(100_000)}@example.com`)],
    ['items', encodeArray(Array.from({ length: 1 + random.below(2) }, item))],
    ['shippingAddress', encodeMapValue(address)],
    ['total', price()],
    ['paid', encodeBoolean(random.below(10) > 0)],
    ['createdAt', instant()],
    ['updatedAt', instant()],
    ['note', encodeString(sentence(4 + random.below(4)))],
  ]);
  return encodeFields(fields, documentEntry);
}
