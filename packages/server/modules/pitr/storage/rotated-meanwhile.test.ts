// @module-tag long
import { join } from 'node:path';
import { type BlobStore, createLocalStore, KeyRing, logManifestKey, openLogManifest } from '@holdfast/engine';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type CapturedBench, startCapturedBench } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { StoreOpener } from '../../storage/index.ts';

let captured: CapturedBench;
beforeAll(async () => {
  captured = await startCapturedBench();
});
afterAll(() => captured.close());
afterEach(() => vi.restoreAllMocks());

async function call(method: string, path: string, body: object) {
  const { app, as } = captured.bench;
  const answer = await app.request(method, `/api/v1${path}`, { ...as, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

const keyOf = (which: number) => Buffer.alloc(32, which);
async function rotateTo(which: number): Promise<void> {
  await call('PUT', '/organizations/current/encryption-key', { key: keyOf(which).toString('base64') });
  await call('POST', '/organizations/current/encryption-key/rotate', {});
  await captured.bench.app.tasks.runNow('pitr manifests');
}

/** Something happens behind the second read of an object in a place: it is proved once, and compared once more in the end. */
function behindSecondRead(place: string, wanted: string, act: () => Promise<void>): void {
  const open = StoreOpener.prototype.open;
  let reads = 0;
  const watched = (store: BlobStore) =>
    new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name !== 'get') return value.bind(target);
        return async (key: string, options: object) => {
          const content = await target.get(key, options);
          if (key === wanted && ++reads === 2) await act();
          return content;
        };
      },
    });
  vi.spyOn(StoreOpener.prototype, 'open').mockImplementation(async function (this: StoreOpener, destination, options) {
    const store = await open.call(this, destination, options);
    return destination.id === place ? (watched(store) as typeof store) : store;
  });
}

test('a rotation between the copy of a log and its switch reaches the manifest in the new place', async () => {
  await captured.capturedWith('bob');
  await rotateTo(1);
  const { bench, owner } = captured;
  const place = await call('POST', '/storage-destinations', { name: 'Second', type: 'local', path: 'second' });
  const { rows } = await owner.query('select log_id as id from pitr_logs');
  const logId: string = rows[0].id;
  const act = vi.fn(() => rotateTo(2));
  behindSecondRead(place.id, logManifestKey(logId), act);
  const from = bench.shop.destinationId;
  const { id } = await call('POST', `/storage-destinations/${from}/migrate`, { toStorageDestinationId: place.id });
  const task = await untilEnded(bench.app, `/api/v1/storage-destinations/${from}/tasks/${id}`, bench.as, 60_000);
  expect(task).toMatchObject({ status: 'completed', error: null });
  expect(act).toHaveBeenCalledOnce();
  await bench.app.tasks.runNow('pitr manifests');
  const { rows: now } = await owner.query('select storage_destination_id as place from pitr_logs');
  expect(now).toEqual([{ place: place.id }]);
  const store = await createLocalStore({ root: join(bench.app.folder, 'storage', bench.as.organizationId, 'second') });
  const opened = await openLogManifest(store, logId, new KeyRing([{ key: keyOf(2) }]));
  expect(opened.body.from).toBeDefined();
  await store.close();
});
