/** The model's knowledge of documents and scopes: derived from the promises, without any code of the service. */

export type Value = { readonly [field: string]: number | readonly number[] | { readonly [key: string]: number } };
export type Documents = ReadonlyMap<string, Value>;

/** Few enough that steps overlap, with every relation that a scope can have: below, beside, same name elsewhere. */
export const plainPaths = [
  'users/1',
  'users/2',
  'users/3',
  'users/1/orders/1',
  'users/2/orders/1',
  'users/1/logs/1',
  'orders/1',
  'orders/2',
  'logs/1',
] as const;

/** Production sorts numeric ids before all others; a Firestore that does not, or refuses them, gets none. */
export const paths = [...plainPaths, 'users/__id7__', 'users/__id7__/orders/__id-3__', 'orders/__id12__'] as const;

/** A requested part of a database. */
export interface Part {
  collections?: readonly string[];
  excludeCollections?: readonly string[];
  includeSubcollections?: boolean;
  documents?: readonly string[];
}

export const parts: readonly Part[] = [
  {},
  {},
  { collections: ['users'] },
  { collections: ['users'], includeSubcollections: false },
  { collections: ['users', 'orders'] },
  { collections: ['users/*/orders'] },
  { collections: ['users/1/orders'] },
  { collections: ['orders'] },
  { includeSubcollections: false },
  { excludeCollections: ['logs'] },
  { excludeCollections: ['users/*/logs', 'orders'] },
];

/**
 * Parts for a Firestore that does not sort numeric ids first, as production does: the bounds of a collection with
 * everything below it depend on that.
 */
export const plainParts: readonly Part[] = [
  {},
  {},
  { collections: ['users'], includeSubcollections: false },
  { collections: ['users', 'orders'], includeSubcollections: false },
];

/** The names of the collections above a document: `users/1/orders/1` is in `users` and in `users/1/orders`. */
function collectionsAbove(path: string): string[] {
  const segments = path.split('/');
  return segments.flatMap((_, index) => (index % 2 === 1 ? [segments.slice(0, index).join('/')] : []));
}

const isNamed = (collection: string, name: string) => {
  const [here, named] = [collection.split('/'), name.split('/')];
  return here.length === named.length && named.every((segment, index) => segment === '*' || segment === here[index]);
};

export function isPart(part: Part, path: string): boolean {
  if (part.documents)
    return part.documents.some((one) => one === path || (part.includeSubcollections && path.startsWith(`${one}/`)));
  const above = collectionsAbove(path);
  if (part.excludeCollections?.some((name) => above.some((collection) => isNamed(collection, name)))) return false;
  if (!part.collections || part.collections[0] === '*')
    return part.includeSubcollections !== false || above.length === 1;
  const counted = part.includeSubcollections === false ? above.slice(-1) : above;
  return part.collections.some((name) => counted.some((collection) => isNamed(collection, name)));
}

/** `merge` as promised: maps deeply, everything else replaced. */
export function mergedValue(former: Value | undefined, restored: Value): Value {
  if (!former) return restored;
  const merged: Record<string, Value[string]> = { ...former };
  for (const [field, value] of Object.entries(restored)) {
    const there = merged[field];
    merged[field] = isMap(there) && isMap(value) ? { ...there, ...value } : value;
  }
  return merged;
}

function isMap(value: Value[string] | undefined): value is { readonly [key: string]: number } {
  return typeof value === 'object' && !Array.isArray(value);
}

/** The same text for the same value, in any order of its fields. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, (_, one) =>
    one !== null && typeof one === 'object' && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([left], [right]) => (left < right ? -1 : 1)))
      : one,
  );
}
