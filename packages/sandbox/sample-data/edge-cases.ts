import { secondMicros } from '../firestore/values/timestamp.ts';
import type { SampleDocument } from './sample-document.ts';
import { documentFields, value } from './value-builder.ts';

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;
const idBytesMax = 1500;
const mapDepth = 20;
const collectionDepth = 12;

/** Ids that break tools which split on the wrong character, sort by the wrong rule, or escape too little. */
export const oddIds: readonly string[] = [
  '__id7__',
  '__id10__',
  '__id9223372036854775807__',
  'a.b.c',
  '...',
  'with space',
  ' leading',
  'trailing ',
  'percent%2Fslash',
  '#?&=+',
  'back`tick',
  'quote"\'',
  '(default)',
  '~tilde',
  '_',
  '__',
  'naïve',
  'Ünïcödé',
  'עברית',
  '日本語',
  '🔥🧯',
  '\u{10ffff}',
  '\uffee',
  'x'.repeat(idBytesMax),
  'é'.repeat(idBytesMax / 2),
];

/** Documents that every correct copy of a database must contain unchanged. `root` is the database's documents root. */
export function edgeCases(root: string): SampleDocument[] {
  return [
    { path: 'edge/numbers', fields: numbers() },
    { path: 'edge/scalars', fields: scalars(root) },
    { path: 'edge/timestamps', fields: timestamps() },
    { path: 'edge/containers', fields: containers() },
    { path: 'edge/names', fields: fieldNames() },
    { path: 'edge/empty', fields: Buffer.alloc(0) },
    { path: 'edge/deep', fields: documentFields(['deep', nested(mapDepth)]) },
    ...oddIds.map((id, index) => ({ path: `odd ids/${id}`, fields: documentFields(['n', value.integer(index)]) })),
    ...oddIds.slice(0, 8).map((id) => ({
      path: `missing/${id}/below/here`,
      fields: documentFields(['id', value.string(id)]),
    })),
    { path: deepPath(), fields: documentFields(['depth', value.integer(collectionDepth)]) },
  ];
}

function numbers(): Buffer {
  return documentFields(
    ['int64Max', value.integer(int64Max)],
    ['int64Min', value.integer(int64Min)],
    ['aboveSafe', value.integer(9007199254740993n)],
    ['zero', value.integer(0)],
    ['negativeOne', value.integer(-1)],
    ['doubleZero', value.double(0)],
    ['negativeZero', value.double(-0)],
    ['notANumber', value.double(Number.NaN)],
    ['infinity', value.double(Number.POSITIVE_INFINITY)],
    ['negativeInfinity', value.double(Number.NEGATIVE_INFINITY)],
    ['smallest', value.double(Number.MIN_VALUE)],
    ['largest', value.double(Number.MAX_VALUE)],
    ['wholeDouble', value.double(3)],
  );
}

function scalars(root: string): Buffer {
  return documentFields(
    ['null', value.null],
    ['true', value.boolean(true)],
    ['false', value.boolean(false)],
    ['emptyString', value.string('')],
    ['nul', value.string('a\u0000b')],
    ['emoji', value.string('👩‍👩‍👧‍👦 family')],
    ['emptyBytes', value.bytes(new Uint8Array(0))],
    ['allBytes', value.bytes(Uint8Array.from({ length: 256 }, (_, index) => index))],
    ['reference', value.reference(`${root}/edge/numbers`)],
    ['deepReference', value.reference(`${root}/${deepPath()}`)],
    ['foreignReference', value.reference('projects/elsewhere/databases/(default)/documents/a/b')],
    ['pole', value.geoPoint(-90, 180)],
    ['nullIsland', value.geoPoint(0, 0)],
    ['negativeZeroPoint', value.geoPoint(-0, -0)],
    ['vector', value.vector([0.25, -1, 1e-30])],
  );
}

function timestamps(): Buffer {
  return documentFields(
    ['first', value.timestampParts(-62_135_596_800, 0)],
    ['last', value.timestampParts(253_402_300_799, 999_999_000)],
    ['epoch', value.timestamp(0)],
    ['beforeEpoch', value.timestamp(-1)],
    ['micros', value.timestamp(1_700_000_000 * secondMicros + 123_456)],
  );
}

function containers(): Buffer {
  return documentFields(
    ['emptyMap', value.map()],
    ['emptyArray', value.array([])],
    ['arrayOfEmptyMaps', value.array([value.map(), value.map()])],
    ['mixed', value.array([value.null, value.integer(1), value.double(1), value.string('1'), value.boolean(true)])],
    ['nullsInside', value.map(['a', value.null], ['b', value.array([value.null])])],
    ['arrayInMapInArray', value.array([value.map(['inner', value.array([value.integer(1)])])])],
    ['numericKeys', value.map(['10', value.integer(10)], ['9', value.integer(9)], ['-1', value.integer(-1)])],
    ['looksLikeGeoPoint', value.map(['latitude', value.double(1)], ['longitude', value.double(2)])],
    ['looksLikeTimestamp', value.map(['_seconds', value.integer(1)], ['_nanoseconds', value.integer(2)])],
  );
}

function fieldNames(): Buffer {
  return documentFields(
    ['zulu', value.integer(1)],
    ['alpha', value.integer(2)],
    ['with.dot', value.integer(3)],
    ['with`tick', value.integer(4)],
    ['with\\backslash', value.integer(5)],
    ['with space', value.integer(6)],
    ['1', value.integer(7)],
    ['0', value.integer(8)],
    ['🔑', value.integer(9)],
    ['constructor', value.integer(10)],
    ['toString', value.integer(11)],
    ['hasOwnProperty', value.map(['.', value.integer(12)])],
  );
}

function nested(depth: number): Uint8Array {
  let inner = value.map(['bottom', value.boolean(true)]);
  for (let level = 1; level < depth; level++) inner = value.map([`level${level}`, inner]);
  return inner;
}

/** A document below many subcollections of which no other document exists. */
function deepPath(): string {
  return Array.from({ length: collectionDepth }, (_, level) => `deep${level}/d${level}`).join('/');
}
