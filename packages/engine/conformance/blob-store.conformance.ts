import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isEngineError, type VersionedBlobStore } from '../ports/index.ts';
import { probeStore } from '../stores/probe.ts';
import { hourMs } from '../time/durations.ts';
import { bytesOf, type Candidate, failure, inParallel, keysOf, textOf } from './candidate.ts';
import { hiddenVersionPromises } from './hidden-versions.conformance.ts';

export interface CandidateTraits {
  /** Larger than this is stored by other means (parts, chunks), so it is tried too. */
  largeBytes: number;
  /** More objects than one answer lists, where the store lists in pages. */
  manyObjects: number;
}

/** What the port promises, as tests. Every implementation runs them all. */
export function blobStoreConformance(name: string, traits: CandidateTraits, open: () => Promise<Candidate>): void {
  describe(`${name} keeps the promises of a BlobStore`, () => {
    let candidate: Candidate;
    let store: VersionedBlobStore;
    beforeAll(async () => {
      candidate = await open();
      store = candidate.store;
    });
    afterAll(() => candidate.close());

    test.each([0, 1, 65_537, 1_000_003, traits.largeBytes])('%i bytes come back as they were', async (size) => {
      const bytes = bytesOf(size);
      const put = await store.put(`round/${size}`, bytes);
      expect(put).toMatchObject({ key: `round/${size}`, size });
      expect(Buffer.compare(await store.get(`round/${size}`), bytes)).toBe(0);
      const head = await store.head(`round/${size}`);
      expect(head).toMatchObject({ key: `round/${size}`, size, etag: put.etag });
      expect(Math.abs(Date.now() - head!.modifiedAt.getTime())).toBeLessThan(60_000);
    });

    test('the given bytes may be reused by the caller once put has resolved', async () => {
      const bytes = textOf('first');
      await store.put('reuse', bytes);
      bytes.fill(0);
      expect(String(Buffer.from(await store.get('reuse')))).toBe('first');
    });

    test('bytes that the caller gives away arrive whole, whatever the store does with them afterwards', async () => {
      const bytes = bytesOf(300_000);
      const given = bytes.slice();
      expect(await store.put('given/away', given, { isLastUse: true })).toMatchObject({ size: bytes.length });
      expect(Buffer.compare(await store.get('given/away'), bytes)).toBe(0);
    });

    test("the bytes that a call answers are the caller's own", async () => {
      const bytes = Buffer.alloc(50_000, 1);
      await store.put('own', bytes);
      for (const answered of [await store.get('own'), await store.getRange('own', 0, 40_000)]) answered.fill(2);
      expect(Buffer.compare(await store.get('own'), bytes)).toBe(0);
    });

    test('what is not there is not found, and head says undefined', async () => {
      expect(await failure(store.get('absent/x'))).toBe('STORAGE_NOT_FOUND');
      expect(await failure(store.getRange('absent/x', 0, 1))).toBe('STORAGE_NOT_FOUND');
      expect(await store.head('absent/x')).toBeUndefined();
    });

    test('a put replaces, and the etag tells', async () => {
      const first = await store.put('replaced', textOf('one'));
      const second = await store.put('replaced', textOf('two'));
      expect(second.etag).not.toBe(first.etag);
      expect(String(Buffer.from(await store.get('replaced')))).toBe('two');
      expect((await store.head('replaced'))?.etag).toBe(second.etag);
    });

    test('an object above the limit is refused instead of filling memory', async () => {
      await store.put('big', bytesOf(2000));
      expect(await failure(store.get('big', { bytesMax: 1999 }))).toBe('VALIDATION_ERROR');
      expect(await store.get('big', { bytesMax: 2000 })).toHaveLength(2000);
    });

    test('a range is exactly the bytes asked for, or an error', async () => {
      const bytes = bytesOf(100_000);
      await store.put('ranged', bytes);
      for (const [offset, length] of [
        [0, 1],
        [0, 100_000],
        [99_999, 1],
        [12_345, 54_321],
      ] as const)
        expect(
          Buffer.compare(await store.getRange('ranged', offset, length), bytes.subarray(offset, offset + length)),
        ).toBe(0);
      expect(await failure(store.getRange('ranged', 99_999, 2))).toBe('INTEGRITY_ERROR');
      expect(await failure(store.getRange('ranged', 100_000, 1))).toBe('INTEGRITY_ERROR');
      expect(await failure(store.getRange('ranged', 500_000, 10))).toBe('INTEGRITY_ERROR');
      expect(await failure(store.getRange('ranged', -1, 10))).toBe('VALIDATION_ERROR');
      expect(await failure(store.getRange('ranged', 0, 0))).toBe('VALIDATION_ERROR');
    });

    test('ifAbsent: the first wins, the same bytes again are no conflict, others are', async () => {
      await store.put('once', textOf('mine'), { ifAbsent: true });
      await store.put('once', textOf('mine'), { ifAbsent: true });
      expect(await failure(store.put('once', textOf('other'), { ifAbsent: true }))).toBe('STORAGE_CONFLICT');
      expect(String(Buffer.from(await store.get('once')))).toBe('mine');
    });

    test('ifAbsent: of many writers at once exactly one succeeds, and its bytes are there', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, writer) =>
          failure(store.put('race', textOf(`writer ${writer}`), { ifAbsent: true })),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'none')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'STORAGE_CONFLICT')).toHaveLength(7);
      expect(String(Buffer.from(await store.get('race')))).toBe(`writer ${outcomes.indexOf('none')}`);
    });

    test('ifAbsent holds for large objects too', async () => {
      const bytes = bytesOf(traits.largeBytes);
      await store.put('large-once', bytes, { ifAbsent: true });
      expect(await failure(store.put('large-once', bytesOf(traits.largeBytes), { ifAbsent: true }))).toBe(
        'STORAGE_CONFLICT',
      );
      await store.put('large-once', bytes, { ifAbsent: true });
      expect(Buffer.compare(await store.get('large-once'), bytes)).toBe(0);
    });

    test('ifMatch: replaces what was seen, and nothing else', async () => {
      const { etag } = await store.put('seen', textOf('a'));
      const next = await store.put('seen', textOf('b'), { ifMatch: etag });
      expect(await failure(store.put('seen', textOf('c'), { ifMatch: etag }))).toBe('STORAGE_CONFLICT');
      expect(await failure(store.put('seen-never', textOf('c'), { ifMatch: etag }))).toBe('STORAGE_CONFLICT');
      const outcomes = await Promise.all(
        Array.from({ length: 6 }, (_, writer) =>
          failure(store.put('seen', textOf(`w${writer}`), { ifMatch: next.etag })),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'none')).toHaveLength(1);
      expect(String(Buffer.from(await store.get('seen')))).toBe(`w${outcomes.indexOf('none')}`);
    });

    test('a reader never sees half of an object', async () => {
      const versions = [new Uint8Array(300_000).fill(1), new Uint8Array(200_000).fill(2)];
      await store.put('whole', versions[0]!);
      const writing = (async () => {
        for (let turn = 0; turn < 20; turn++) await store.put('whole', versions[turn % 2]!);
      })();
      for (let turn = 0; turn < 30; turn++) {
        const seen = await store.get('whole');
        expect(versions.some((version) => Buffer.compare(version, seen) === 0)).toBe(true);
      }
      await writing;
    });

    test('listing gives every key once, ascending by bytes, below a prefix and behind a key', async () => {
      const names = ['b', 'a-b', 'a.b', 'a/1', 'a/10', 'a/2', 'a/3/deep/er', 'aa', 'B', '_', 'z'].map(
        (key) => `list/${key}`,
      );
      await inParallel(names, 4, (key) => store.put(key, textOf(key)));
      const sorted = names.toSorted((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
      expect(await keysOf(store, 'list/')).toEqual(sorted);
      expect(await keysOf(store, 'list/a')).toEqual(sorted.filter((key) => key.startsWith('list/a')));
      expect(await keysOf(store, 'list/a/')).toEqual(sorted.filter((key) => key.startsWith('list/a/')));
      for (const after of sorted)
        expect(await keysOf(store, 'list/', { startAfter: after })).toEqual(sorted.slice(sorted.indexOf(after) + 1));
      expect(await keysOf(store, 'list/none/')).toEqual([]);
      expect((await keysOf(store, '')).length).toBeGreaterThanOrEqual(names.length);
      for await (const info of store.list('list/aa')) expect(info).toMatchObject({ key: 'list/aa', size: 7 });
    });

    test('more objects than one page are all listed and all deleted', async () => {
      const keys = Array.from({ length: traits.manyObjects }, (_, index) => `many/${String(index).padStart(5, '0')}`);
      const [first = '', ...others] = keys;
      await store.put(first, textOf(first));
      if (candidate.multiply) await candidate.multiply(first, others);
      else await inParallel(others, 16, (key) => store.put(key, textOf(key)));
      expect(await keysOf(store, 'many/')).toEqual(keys);
      expect(await keysOf(store, 'many/', { startAfter: keys.at(-51)! })).toEqual(keys.slice(-50));
      await store.delete([...keys, 'many/never-there']);
      expect(await keysOf(store, 'many/')).toEqual([]);
    });

    test('deleting is done when it returns, and deleting nothing is no error', async () => {
      await store.put('gone', textOf('x'));
      await store.delete(['gone', 'never/was']);
      expect(await store.head('gone')).toBeUndefined();
      await store.delete(['gone']);
      await store.delete([]);
    });

    test.each(['', '/a', 'a/', 'a//b', '../a', 'a/../b', 'a/./b', 'a\\b', 'a\u0000', 'k'.repeat(1025)])(
      'the key %j is refused',
      async (key) => {
        for (const call of [store.put(key, textOf('x')), store.get(key), store.head(key), store.delete([key])])
          expect(await failure(call)).toBe('VALIDATION_ERROR');
      },
    );

    test.each(['ä', 'a b', '2024-05-01T12:00:00_1'])(
      'the name %j of something that others wrote is read, and neither written nor deleted',
      async (key) => {
        for (const call of [store.put(key, textOf('x')), store.delete([key])])
          expect(await failure(call)).toBe('VALIDATION_ERROR');
        expect(await store.head(key)).toBeUndefined();
        if (candidate.layForeign === undefined) return;
        const name = `foreign/${key}/100%+1 é.json`;
        await candidate.layForeign(name, textOf('theirs'));
        expect(await keysOf(store, `foreign/${key}/100%`)).toEqual([name]);
        expect(await store.head(name)).toMatchObject({ key: name, size: 6 });
        expect(Buffer.from(await store.getRange(name, 0, 5)).toString()).toBe('their');
      },
    );

    test('a cancelled call says so and does nothing', async () => {
      const signal = AbortSignal.abort();
      expect(await failure(store.put('cancelled', textOf('x'), { signal }))).toBe('CANCELLED');
      expect(await failure(store.get('replaced', { signal }))).toBe('CANCELLED');
      expect(await failure(store.getRange('replaced', 0, 1, { signal }))).toBe('CANCELLED');
      expect(await failure(store.head('replaced', { signal }))).toBe('CANCELLED');
      expect(await failure(store.delete(['replaced'], { signal }))).toBe('CANCELLED');
      expect(await failure(keysOf(store, '', { signal }))).toBe('CANCELLED');
      expect(await store.head('cancelled')).toBeUndefined();
    });

    test('a call that is cancelled while it is repeated ends at once', async () => {
      candidate.setFaults(true);
      const controller = new AbortController();
      const calls = Array.from({ length: 20 }, (_, index) =>
        failure(store.put(`stop/${index}`, bytesOf(1000), { signal: controller.signal })),
      );
      const startedAt = performance.now();
      controller.abort();
      const outcomes = await Promise.all(calls);
      candidate.setFaults(false);
      expect(performance.now() - startedAt).toBeLessThan(2000);
      for (const outcome of outcomes) expect(['CANCELLED', 'none']).toContain(outcome);
    });

    test('random calls agree with a simple map', async () => {
      const key = fc.constantFrom('m/a', 'm/a.b', 'm/b/c', 'm/b/d', 'm/e');
      const command = fc.oneof(
        fc.record({
          kind: fc.constant('put' as const),
          key,
          bytes: fc.uint8Array({ maxLength: 50 }),
          ifAbsent: fc.boolean(),
        }),
        fc.record({ kind: fc.constant('delete' as const), key }),
        fc.record({ kind: fc.constant('get' as const), key }),
        fc.record({ kind: fc.constant('list' as const), key }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
          await store.delete(['m/a', 'm/a.b', 'm/b/c', 'm/b/d', 'm/e']);
          const model = new Map<string, Uint8Array>();
          for (const one of commands) {
            const known = model.get(one.key);
            if (one.kind === 'put') {
              const clashes = one.ifAbsent && known !== undefined && Buffer.compare(known, one.bytes) !== 0;
              const outcome = await failure(store.put(one.key, one.bytes, { ifAbsent: one.ifAbsent }));
              expect(outcome).toBe(clashes ? 'STORAGE_CONFLICT' : 'none');
              if (!clashes) model.set(one.key, one.bytes);
            } else if (one.kind === 'delete') {
              await store.delete([one.key]);
              model.delete(one.key);
            } else if (one.kind === 'get') {
              if (known) expect(Buffer.compare(await store.get(one.key), known)).toBe(0);
              else expect(await failure(store.get(one.key))).toBe('STORAGE_NOT_FOUND');
            } else expect(await keysOf(store, 'm/')).toEqual([...model.keys()].sort());
          }
        }),
        { numRuns: 15 },
      );
    });

    test('a probe does everything once, times it, and leaves nothing behind', async () => {
      const steps = await probeStore(store);
      expect(steps.map(({ name: step, ok, error }) => ({ step, ok, error }))).toEqual(
        ['write', 'read', 'range', 'list', 'delete'].map((step) => ({ step, ok: true, error: undefined })),
      );
      expect(await keysOf(store, 'holdfast-probe-')).toEqual([]);
    });

    test('a locked object cannot be removed before its time, and the refusal names it', async ({ skip }) => {
      const { lockable } = candidate;
      if (!lockable) {
        const lock = { mode: 'compliance' as const, retainUntil: new Date(Date.now() + hourMs) };
        expect(await failure(store.put('locked', textOf('x'), { lock }))).toBe('VALIDATION_ERROR');
        return skip('this kind of store cannot lock, and says so');
      }
      for (const size of [1000, traits.largeBytes]) {
        const bytes = bytesOf(size);
        const retainUntil = new Date(Date.now() + hourMs);
        await lockable.put(`locked/${size}`, bytes, { lock: { mode: 'compliance', retainUntil } });
        await lockable.put('free/1', textOf('x'));
        const error = await lockable.delete([`locked/${size}`, 'free/1']).catch((reason) => reason);
        expect(isEngineError(error, 'STORAGE_PERMISSION_DENIED')).toBe(true);
        expect(error.details.lockedKeys).toEqual([`locked/${size}`]);
        expect(Buffer.compare(await lockable.get(`locked/${size}`), bytes)).toBe(0);
        expect(await lockable.head('free/1')).toBeUndefined();
      }
    });

    test('a place says beforehand whether it takes locks, and what to do where it does not', async () => {
      const { lockable, unlockable } = candidate;
      const lock = { mode: 'governance' as const, retainUntil: new Date(Date.now() + 60_000) };
      expect(lockable ?? unlockable).toBeDefined();
      if (lockable) {
        expect(await lockable.lockAbility()).toEqual({ canLock: true });
        expect((await probeStore(lockable, { locks: true })).at(-1)).toMatchObject({ name: 'objectLock', ok: true });
        expect(await failure(lockable.put('takes/lock', textOf('x'), { lock }))).toBe('none');
      }
      if (unlockable) {
        const ability = await unlockable.lockAbility();
        expect(ability).toEqual({ canLock: false, reason: expect.stringMatching(/hoose .*bucket/) });
        const last = (await probeStore(unlockable, { locks: true })).at(-1);
        expect(last).toMatchObject({ name: 'objectLock', ok: false });
        expect(ability).toMatchObject({ reason: last?.error?.message });
        expect(await failure(unlockable.put('takes/none', textOf('x'), { lock }))).toBe('VALIDATION_ERROR');
      }
      const asked = (lockable ?? unlockable)?.lockAbility({ signal: AbortSignal.abort() });
      expect(await failure(asked as Promise<unknown>)).toBe('CANCELLED');
    });

    test('a lock is prolonged, never shortened', async ({ skip }) => {
      const { lockable } = candidate;
      const inMs = (ms: number) => ({ mode: 'compliance' as const, retainUntil: new Date(Date.now() + ms) });
      if (!lockable) {
        expect(await failure(store.extendLock(['any'], inMs(hourMs)))).toBe('VALIDATION_ERROR');
        return skip('this kind of store cannot lock, and says so');
      }
      await lockable.put('prolonged', textOf('x'), { lock: inMs(1500) });
      await lockable.extendLock(['prolonged'], inMs(hourMs));
      await lockable.extendLock(['prolonged'], inMs(2000));
      await new Promise((resolve) => setTimeout(resolve, 2500));
      expect(await failure(lockable.delete(['prolonged']))).toBe('STORAGE_PERMISSION_DENIED');
      expect(await failure(lockable.delete(['prolonged'], { purge: true }))).toBe('STORAGE_PERMISSION_DENIED');
      expect(await lockable.get('prolonged')).toEqual(textOf('x'));
    });

    hiddenVersionPromises(() => candidate);

    describe('while everything around it fails', () => {
      test('every put that returned is there and right; every get is right or an error', async () => {
        const written = new Map<string, Uint8Array>();
        let readErrors = 0;
        candidate.setFaults(true);
        try {
          await inParallel(
            Array.from({ length: 80 }, (_, index) => index),
            12,
            async (index) => {
              const bytes = bytesOf(1 + Math.floor(Math.random() * 40_000));
              const key = `faults/${String(index).padStart(3, '0')}`;
              const outcome = await failure(store.put(key, bytes, index % 2 === 0 ? { ifAbsent: true } : {}));
              if (outcome === 'none') written.set(key, bytes);
              else expect(['STORAGE_UNAVAILABLE', 'STORAGE_UPLOAD_ERROR']).toContain(outcome);
              const seen = await store.get(key).catch((error) => {
                expect(isEngineError(error)).toBe(true);
                readErrors++;
              });
              if (seen) expect(Buffer.compare(seen, bytes)).toBe(0);
            },
          );
          const listed = await keysOf(store, 'faults/');
          expect(listed).toEqual(expect.arrayContaining([...written.keys()]));
          expect(listed).toEqual([...new Set(listed)].sort());
        } finally {
          candidate.setFaults(false);
        }
        for (const [key, bytes] of written) expect(Buffer.compare(await store.get(key), bytes)).toBe(0);
        // With a dozen attempts each, giving up is rare: otherwise the retries do not work.
        expect(written.size).toBeGreaterThanOrEqual(77);
        expect(readErrors).toBeLessThanOrEqual(3);
        if (candidate.countObjects)
          expect(candidate.countObjects('faults/')).toBe((await keysOf(store, 'faults/')).length);
        await store.delete([...written.keys()]);
      });

      test('a large object gets through in one piece', async () => {
        const bytes = bytesOf(traits.largeBytes);
        candidate.setFaults(true);
        const outcome = await failure(store.put('faults-large', bytes, { ifAbsent: true })).finally(() =>
          candidate.setFaults(false),
        );
        expect(outcome).toBe('none');
        expect(Buffer.compare(await store.get('faults-large'), bytes)).toBe(0);
      });
    });
  });
}
