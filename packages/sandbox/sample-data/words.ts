import type { Random } from '../firestore/faults/random.ts';
import { day, type Micros, secondMicros } from '../firestore/values/timestamp.ts';

const firstNames =
  'Ada Alan Barbara Claude Donald Edsger Frances Grace Hedy Joan Katherine Leslie Margaret Niklaus'.split(' ');
const lastNames =
  'Lovelace Turing Liskov Shannon Knuth Dijkstra Allen Hopper Lamarr Clarke Johnson Lamport Wirth'.split(' ');
const things = 'lamp kettle chair notebook bicycle camera blanket backpack mug radio clock scarf tent compass'.split(
  ' ',
);
const adjectives = 'small sturdy quiet bright folding wooden woollen light blue heavy travel vintage'.split(' ');
const filler =
  'we shipped it yesterday and the parcel should arrive by noon please tell me if anything is missing thanks a lot see you'.split(
    ' ',
  );
const cities: readonly (readonly [string, number, number])[] = [
  ['Berlin', 52.52, 13.405],
  ['Lagos', 6.5244, 3.3792],
  ['São Paulo', -23.5505, -46.6333],
  ['東京', 35.6764, 139.65],
  ['Reykjavík', 64.1466, -21.9426],
];
const epoch: Micros = 1_700_000_000 * secondMicros;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

export function personName(random: Random): string {
  return `${random.pick(firstNames)} ${random.pick(lastNames)}`;
}

export function productName(random: Random): string {
  return `${random.pick(adjectives)} ${random.pick(things)}`;
}

export function sentence(random: Random, words: number): string {
  return Array.from({ length: words }, () => random.pick(filler)).join(' ');
}

export function city(random: Random): { name: string; latitude: number; longitude: number } {
  const [name, latitude, longitude] = random.pick(cities);
  return { name, latitude, longitude };
}

/** A moment within a year, to the microsecond. */
export function moment(random: Random): Micros {
  return epoch + random.below(365) * day + random.below(86_400) * secondMicros + random.below(secondMicros);
}

/** An id as the client libraries make them. */
export function autoId(random: Random): string {
  return Array.from({ length: 20 }, () => alphabet[random.below(alphabet.length)]!).join('');
}

export function numbers(random: Random, count: number): number[] {
  return Array.from({ length: count }, () => random.next() * 2 - 1);
}

export function bytes(random: Random, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => random.below(256));
}
