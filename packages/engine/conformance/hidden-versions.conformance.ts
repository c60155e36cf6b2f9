import { expect, test } from 'vitest';
import type { HiddenObject, ListOptions, VersionedBlobStore } from '../ports/index.ts';
import { type Candidate, inParallel, keysOf, textOf } from './candidate.ts';

async function hiddenIn(store: VersionedBlobStore, prefix: string, options: ListOptions = {}): Promise<HiddenObject[]> {
  const objects: HiddenObject[] = [];
  for await (const object of store.listHidden(prefix, options)) objects.push(object);
  return objects;
}

/** What the port promises of buckets that keep versions. */
export function hiddenVersionPromises(open: () => Candidate): void {
  test('what has gone is listed with its former versions, what is there is not, and a purge leaves nothing of it', async ({
    skip,
  }) => {
    const { store, versioned } = open();
    if (!versioned) {
      await store.put('plain/a', textOf('x'));
      await store.delete(['plain/a']);
      expect(await hiddenIn(store, 'plain/')).toEqual([]);
      expect(await store.purgeHidden([])).toMatchObject({ removed: 0, locked: 0 });
      return skip('this kind of store keeps no versions');
    }
    for (const key of ['hidden/gone', 'hidden/gone', 'hidden/there', 'hidden/there', 'hidden/back', 'beside/gone'])
      await versioned.put(key, textOf(`${key} ${Math.random()}`));
    await versioned.delete(['hidden/gone', 'hidden/back', 'beside/gone']);
    const hidden = await hiddenIn(versioned, 'hidden/');
    expect(hidden.map(({ key, versions }) => [key, versions.length])).toEqual([
      ['hidden/back', 1],
      ['hidden/gone', 2],
    ]);
    expect(await hiddenIn(versioned, 'hidden/', { startAfter: 'hidden/back' })).toEqual(hidden.slice(1));
    expect(await hiddenIn(versioned, 'hidden/gone/')).toEqual([]);
    await versioned.put('hidden/back', textOf('again'));
    const bytes = hidden[1]!.versions.reduce((sum, { size }) => sum + size, 0);
    const outcome = { removed: 2, bytes, locked: 0, lockedKeys: [], returnedKeys: ['hidden/back'] };
    expect(await versioned.purgeHidden(hidden, { dryRun: true })).toEqual(outcome);
    expect(await hiddenIn(versioned, 'hidden/')).toEqual(hidden.slice(1));
    expect(await versioned.purgeHidden(hidden)).toEqual(outcome);
    expect(await hiddenIn(versioned, 'hidden/')).toEqual([]);
    expect(await keysOf(versioned, 'hidden/')).toEqual(['hidden/back', 'hidden/there']);
    expect(String(Buffer.from(await versioned.get('hidden/back')))).toBe('again');
    expect((await hiddenIn(versioned, '')).map(({ key }) => key)).toContain('beside/gone');
    expect((await versioned.purgeHidden(hidden)).returnedKeys).toEqual(['hidden/back']);
  });

  test('while everything around it fails whatever is hidden is listed once, and goes', async ({ skip }) => {
    const candidate = open();
    const { versioned } = candidate;
    if (!versioned) return skip('this kind of store keeps no versions');
    const keys = Array.from({ length: 40 }, (_, index) => `hidden-faults/${String(index).padStart(3, '0')}`);
    await inParallel(keys, 8, (key) => versioned.put(key, textOf(key)));
    await versioned.delete(keys);
    candidate.setFaults(true);
    try {
      const hidden = await hiddenIn(versioned, 'hidden-faults/');
      expect(hidden.map(({ key }) => key)).toEqual(keys);
      expect(await versioned.purgeHidden(hidden)).toMatchObject({ removed: 40, locked: 0, returnedKeys: [] });
    } finally {
      candidate.setFaults(false);
    }
    expect(await hiddenIn(versioned, 'hidden-faults/')).toEqual([]);
    expect(await keysOf(versioned, 'hidden-faults/')).toEqual([]);
  });
}
