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
import { documentEntry, encodeFields, encodeMapValue } from '../firestore/values/fields.ts';
import { day, secondMicros } from '../firestore/values/timestamp.ts';
import { varintBytes } from '../firestore/values/wire.ts';

export interface FillOptions {
  readonly collection: string;
  readonly documents: number;
  readonly seed?: number;
}

const variantCount = 512;
const idDigits = 9;
const loadBatch = 10_000;
/** The position of the number in an encoded field `n`: after the entry, its key and the tag of an integer. */
const numberOffset = 8;
const epoch = 1_700_000_000 * secondMicros;
const wordList =
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore'.split(' ');

/**
 * Fills a collection with plain documents of about 600 bytes, straight into the store: a million in a few seconds. Ids
 * are `d000000000` upwards; contents repeat every 512 documents except for the number `n`. The buffers for name and
 * fields are reused for each document, because the store copies them anyway.
 */
export function fillFast(database: Database, options: FillOptions): void {
  const random = new Random(options.seed ?? 1);
  const contents = Array.from({ length: variantCount }, () => plainFields(random));
  const name = Buffer.from(`${database.documentsRoot}/${options.collection}/${idOf(0)}`);
  const time = database.nextCommitTime();
  let variants: Buffer[] = [];
  let numberBytes = 0;
  let changed: DocumentEntry[] = [];
  for (let index = 0; index < options.documents; index++) {
    if (varintBytes(index) !== numberBytes) {
      numberBytes = varintBytes(index);
      variants = contents.map((content) => Buffer.concat([numberField(index), content]));
    }
    const id = idOf(index);
    name.write(id, name.length - id.length, 'latin1');
    const fields = variants[index % variantCount]!;
    patchNumber(fields, index);
    changed.push(database.put(`${options.collection}\u0000${id}`, name, fields, time, time));
    if (changed.length < loadBatch) continue;
    database.committed(changed, time);
    changed = [];
  }
  database.committed(changed, time);
}

function idOf(index: number): string {
  return `d${String(index).padStart(idDigits, '0')}`;
}

function numberField(index: number): Buffer {
  return encodeFields(new Map([['n', encodeInteger(index)]]), documentEntry);
}

/** Writes another number of the same encoded length into fields that start with `n`. */
function patchNumber(fields: Buffer, number: number): void {
  let at = numberOffset;
  let rest = number;
  for (; rest >= 0x80; rest >>>= 7) fields[at++] = (rest & 0x7f) | 0x80;
  fields[at] = rest;
}

function plainFields(random: Random): Buffer {
  const sentence = (words: number): string => Array.from({ length: words }, () => random.pick(wordList)).join(' ');
  const at = epoch + random.below(365) * day + random.below(86_400) * secondMicros;
  const customer = new Map<string, Uint8Array>([
    ['name', encodeString(sentence(2))],
    ['email', encodeString(`${random.pick(wordList)}.${random.below(10_000)}@example.com`)],
  ]);
  const fields = new Map<string, Uint8Array>([
    ['title', encodeString(sentence(6))],
    ['description', encodeString(sentence(42))],
    ['price', encodeDouble(random.below(100_000) / 100)],
    ['quantity', encodeInteger(random.below(50))],
    ['paid', encodeBoolean(random.next() < 0.8)],
    ['createdAt', encodeTimestampValue(at)],
    ['tags', encodeArray([random.pick(wordList), random.pick(wordList), random.pick(wordList)].map(encodeString))],
    ['customer', encodeMapValue(customer)],
  ]);
  return encodeFields(fields, documentEntry);
}
