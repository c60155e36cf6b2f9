import fc from 'fast-check';

/** One fault in something valid. */

const wrongLeaves: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    ' ',
    0,
    -1,
    1.5,
    1e308,
    Number.MAX_SAFE_INTEGER,
    true,
    [],
    {},
    [null],
    '\u0000',
    '\u001b[31m',
    '..',
    '../../etc/passwd',
    '*',
    "' or 1=1 --",
    '%00',
    'NaN',
    'x'.repeat(7000),
    '__proto__',
    '2026-13-45T99:99:99Z',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }).map((value) => value.toWellFormed()),
  fc.integer(),
);

type Path = (string | number)[];

function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const below = Object.entries(value).flatMap(([key, item]) => pathsIn(item, [...path, key]));
  return path.length === 0 ? below : [path, ...below];
}

function changed(value: unknown, [key, ...rest]: Path, change: (leaf: unknown) => unknown): unknown {
  if (key === undefined) return change(value);
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = changed(copy[key], rest, change);
  return copy;
}

function without(value: unknown, path: Path): unknown {
  const last = path.at(-1);
  return changed(value, path.slice(0, -1), (around) => {
    if (Array.isArray(around)) return around.filter((_, index) => String(index) !== String(last));
    const { [String(last)]: _, ...rest } = around as Record<string, unknown>;
    return rest;
  });
}

/** A little beyond the present value: one more, one less, one character too many. */
function beyond(leaf: unknown): unknown {
  if (typeof leaf === 'number') return leaf + 1;
  if (typeof leaf === 'string') return `${leaf}${leaf}x`;
  if (typeof leaf === 'boolean') return String(leaf);
  return Array.isArray(leaf) ? [...leaf, ...leaf] : leaf;
}

export function nearly(valid: unknown): fc.Arbitrary<unknown> {
  const paths = pathsIn(valid);
  const somewhere = paths.length > 0 ? fc.constantFrom(...paths) : fc.constant<Path>([]);
  return fc.oneof(
    fc.tuple(somewhere, wrongLeaves).map(([path, leaf]) => changed(valid, path, () => leaf)),
    somewhere.map((path) => (path.length > 0 ? without(valid, path) : {})),
    somewhere.map((path) => changed(valid, path, beyond)),
    fc.constant({ ...(valid as object), nobodyKnowsThisField: 1 }),
  );
}

export const absurd: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  wrongLeaves,
  fc.constant(JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)),
  fc.dictionary(fc.string({ maxLength: 12 }), wrongLeaves, { maxKeys: 6 }),
);
