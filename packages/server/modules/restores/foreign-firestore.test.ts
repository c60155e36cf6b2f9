// @module-tag long
import { Firestore, GeoPoint, Timestamp } from '@google-cloud/firestore';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ForeignFirestore, foreignFirestores } from '../../../engine/testing/foreign-firestore.ts';
import { type ProtectedProject, protectProject, untilEnded } from '../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

describe.for(foreignFirestores)('$title behind the service', ({ isInstalled, start }) => {
  let app: TestApp;
  let shop: ProtectedProject;
  let foreign: ForeignFirestore;
  let firestore: Firestore;
  let as: { token: string; organizationId: string };
  beforeAll(async () => {
    if (!isInstalled) return;
    [app, foreign] = await Promise.all([startTestApp({ PITR_SEGMENT_SECONDS: '1' }), start()]);
    shop = await protectProject(app);
    as = { token: shop.owner.token, organizationId: shop.organizationId };
    process.env.FIRESTORE_EMULATOR_HOST = foreign.address;
    firestore = new Firestore({ projectId: 'foreign' });
  });
  afterAll(async () => {
    delete process.env.FIRESTORE_EMULATOR_HOST;
    await firestore?.terminate();
    await app?.close();
    await shop?.close();
    await foreign?.stop();
  });

  const post = async (path: string, body: object) => {
    const answer = await app.request('POST', `/api/v1${path}`, { ...as, body });
    expect([201, 202], answer.text).toContain(answer.status);
    return answer.body.data;
  };
  const contents = async () => {
    const found = (await firestore.collectionGroup('orders').get()).docs;
    return Object.fromEntries(found.map((document) => [document.ref.path, document.data()]));
  };

  test.skipIf(!isInstalled)('is backed up through the API, damaged, and restored to what it was', async () => {
    const writer = firestore.batch();
    for (let index = 0; index < 200; index++)
      writer.set(firestore.doc(`users/u${index}/orders/o${index}`), {
        count: index,
        at: Timestamp.fromMillis(1_700_000_000_123),
        place: new GeoPoint(1.5, -2.5),
        bytes: Buffer.from([0, 255]),
        list: [null, true, 'x'],
        user: firestore.doc(`users/u${index}`),
      });
    await writer.commit();
    const before = await contents();
    expect(Object.keys(before)).toHaveLength(200);

    const connection = { type: 'emulator', host: foreign.address };
    const project = await post('/projects', { name: 'Foreign', sourceProjectId: 'foreign', connection });
    const backup = await post('/backups', { projectId: project.id });
    const made = await untilEnded(app, `/api/v1/backups/${backup.id}`, as);
    expect(made, JSON.stringify(made.error)).toMatchObject({ status: 'completed', documentCount: 200 });

    await firestore.doc('users/u1/orders/o1').delete();
    await firestore.doc('users/u2/orders/o2').set({ damaged: true });
    const started = await post('/backups/restore', { backupId: backup.id });
    const restored = await untilEnded(app, `/api/v1/backups/restore/${started.id}`, as);
    expect(restored, JSON.stringify(restored.error)).toMatchObject({ status: 'completed', errors: { count: 0 } });
    expect(await contents()).toEqual(before);
  });

  test.skipIf(!isInstalled)(
    'is followed while it says nothing by itself: quiet time is covered, and an increment reads nothing',
    async () => {
      const quiet = new Firestore({ projectId: 'foreign-quiet' });
      await quiet.doc('a/1').set({ n: 1 });
      await quiet.terminate();
      const connection = { type: 'emulator', host: foreign.address };
      const project = await post('/projects', { name: 'Quiet', sourceProjectId: 'foreign-quiet', connection });
      const path = `/api/v1/projects/${project.id}/pitr`;
      const enabled = await app.request('POST', `${path}/enable`, { ...as, body: {} });
      expect(enabled.status, enabled.text).toBe(200);
      const window = async () => (await app.request('GET', path, as)).body.data;
      await expect.poll(async () => (await window()).status).toBe('running');
      const later = new Date().toISOString();
      await expect.poll(async () => (await window()).coveredTo > later).toBe(true);
      expect((await window()).gaps).toEqual([]);
      const backup = await post('/backups', { projectId: project.id, type: 'incremental' });
      const made = await untilEnded(app, `/api/v1/backups/${backup.id}`, as);
      expect(made, JSON.stringify(made.error)).toMatchObject({ status: 'completed', readsUsed: 0 });
    },
  );
});
