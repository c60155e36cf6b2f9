import { Random } from '../firestore/faults/random.ts';
import type { Database } from '../firestore/store/database.ts';
import type { DocumentEntry } from '../firestore/store/document.ts';
import {
  encodeArray,
  encodeBoolean,
  encodeDouble,
  encodeInteger,
  encodeString,
  encodeTimestampValue,
} from '../firestore/values/encode.ts';
import { DOCUMENT_ENTRY, encodeFields, encodeMapValue } from '../firestore/values/fields.ts';
import { DAY, SECOND } from '../firestore/values/timestamp.ts';

export interface FillOptions {
  readonly collection: string;
  readonly documents: number;
  readonly seed?: number;
}

const VARIANTS = 512;
const ID_DIGITS = 9;
const LOAD_BATCH = 10_000;
const EPOCH = 1_700_000_000 * SECOND;
const WORDS = 'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore'.split(
  ' ',
);

/**
 * Fills a collection with plain documents of about 600 bytes, straight into the store: a million in a few seconds.
 * Ids are `d000000000` upwards; contents repeat every 512 documents except for the number `n`.
 */
export function fillFast(database: Database, options: FillOptions): void {
  const random = new Random(options.seed ?? 1);
  const variants = Array.from({ length: VARIANTS }, () => plainFields(random));
  const time = database.nextCommitTime();
  let changed: DocumentEntry[] = [];
  for (let index = 0; index < options.documents; index++) {
    const id = `d${String(index).padStart(ID_DIGITS, '0')}`;
    const name = Buffer.from(`${database.documentsRoot}/${options.collection}/${id}`);
    const fields = Buffer.concat([numberField(index), variants[index % VARIANTS]!]);
    changed.push(database.put(`${options.collection}\u0000${id}`, name, fields, time, time));
    if (changed.length < LOAD_BATCH) continue;
    database.committed(changed, time);
    changed = [];
  }
  database.committed(changed, time);
}

function numberField(index: number): Buffer {
  return encodeFields(new Map([['n', encodeInteger(index)]]), DOCUMENT_ENTRY);
}

function plainFields(random: Random): Buffer {
  const sentence = (words: number): string => Array.from({ length: words }, () => random.pick(WORDS)).join(' ');
  const at = EPOCH + random.below(365) * DAY + random.below(86_400) * SECOND;
  const customer = new Map<string, Uint8Array>([
    ['name', encodeString(sentence(2))],
    ['email', encodeString(`${random.pick(WORDS)}.${random.below(10_000)}@example.com`)],
  ]);
  const fields = new Map<string, Uint8Array>([
    ['title', encodeString(sentence(6))],
    ['description', encodeString(sentence(42))],
    ['price', encodeDouble(random.below(100_000) / 100)],
    ['quantity', encodeInteger(random.below(50))],
    ['paid', encodeBoolean(random.next() < 0.8)],
    ['createdAt', encodeTimestampValue(at)],
    ['tags', encodeArray([random.pick(WORDS), random.pick(WORDS), random.pick(WORDS)].map(encodeString))],
    ['customer', encodeMapValue(customer)],
  ]);
  return encodeFields(fields, DOCUMENT_ENTRY);
}
