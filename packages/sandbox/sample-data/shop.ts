import type { Random } from '../firestore/faults/random.ts';
import type { SampleDocument } from './sample-document.ts';
import { documentFields, value } from './value-builder.ts';
import { autoId, bytes, city, moment, numbers, personName, productName, sentence } from './words.ts';

const customersPerRound = 5;
const statuses = ['placed', 'paid', 'shipped', 'delivered', 'returned'];

/** Some products with reviews, then customers with orders and the events of those orders. */
export function* shopDocuments(
  root: string,
  random: Random,
  round: number,
): Generator<SampleDocument, void, undefined> {
  const product = `products/p${String(round).padStart(7, '0')}`;
  yield { path: product, fields: productFields(random) };
  for (let count = random.below(3); count > 0; count--) {
    yield { path: `${product}/reviews/${autoId(random)}`, fields: reviewFields(random) };
  }
  for (let index = 0; index < customersPerRound; index++) yield* customer(root, random, product);
}

function* customer(root: string, random: Random, product: string): Generator<SampleDocument, void, undefined> {
  const path = `customers/${autoId(random)}`;
  yield { path, fields: customerFields(root, random, product) };
  for (let orders = random.below(4); orders > 0; orders--) {
    const order = `${path}/orders/${autoId(random)}`;
    yield { path: order, fields: orderFields(root, random, path, product) };
    for (let events = random.below(3); events > 0; events--) {
      yield { path: `${order}/events/${autoId(random)}`, fields: eventFields(random) };
    }
  }
}

function productFields(random: Random): Buffer {
  return documentFields(
    ['title', value.string(productName(random))],
    ['description', value.string(sentence(random, 24))],
    ['price', value.double((100 + random.below(50_000)) / 100)],
    ['stock', value.integer(random.below(500))],
    ['tags', value.array([value.string('home'), value.string(random.pick(['new', 'sale', 'outlet']))])],
    ['embedding', value.vector(numbers(random, 8))],
    ['thumbnail', value.bytes(bytes(random, 48))],
    ['discontinued', value.null],
  );
}

function reviewFields(random: Random): Buffer {
  return documentFields(
    ['stars', value.integer(1 + random.below(5))],
    ['text', value.string(`${sentence(random, 12)} ⭐`)],
    ['at', value.timestamp(moment(random))],
  );
}

function customerFields(root: string, random: Random, product: string): Buffer {
  const home = city(random);
  return documentFields(
    ['name', value.string(personName(random))],
    ['email', value.string(`${autoId(random).toLowerCase()}@example.com`)],
    [
      'address',
      value.map(
        ['city', value.string(home.name)],
        ['location', value.geoPoint(home.latitude, home.longitude)],
        ['lines', value.array([value.string('1 Main Street'), value.string('')])],
      ),
    ],
    ['favourite', value.reference(`${root}/${product}`)],
    ['loyaltyPoints', value.integer(random.below(1_000_000))],
    ['newsletter', value.boolean(random.next() < 0.5)],
    ['preferences', value.map(['display', value.map(['theme', value.string('dark')], ['density', value.map()])])],
    ['createdAt', value.timestamp(moment(random))],
  );
}

function orderFields(root: string, random: Random, customerPath: string, product: string): Buffer {
  const items = Array.from({ length: 1 + random.below(3) }, () =>
    value.map(
      ['product', value.reference(`${root}/${product}`)],
      ['quantity', value.integer(1 + random.below(4))],
      ['price', value.double(random.below(20_000) / 100)],
    ),
  );
  return documentFields(
    ['customer', value.reference(`${root}/${customerPath}`)],
    ['items', value.array(items)],
    ['status', value.string(random.pick(statuses))],
    ['note', value.string(sentence(random, random.below(20)))],
    ['placedAt', value.timestamp(moment(random))],
  );
}

function eventFields(random: Random): Buffer {
  return documentFields(
    ['kind', value.string(random.pick(statuses))],
    ['at', value.timestamp(moment(random))],
    ['payload', value.bytes(bytes(random, 16))],
  );
}
