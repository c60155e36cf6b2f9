// @module-tag long
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupReader, createLocalStore, KeyRing, SegmentCodec } from '@holdfast/engine';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { asOwner, foundOrganization, signUp } from '../../testing/people.ts';
import { addMember } from '../../testing/team.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
});
afterAll(() => bench.close());
beforeEach(() => bench.startOver());

const folder = () => join(bench.app.folder, 'storage', bench.as.organizationId);
const keyOfCustomer = Buffer.alloc(32, 9);

/** Whether the manifest in the bucket opens with this key alone, as the customer's own copy of it would. */
async function opensWith(key: Uint8Array, backupId: string): Promise<boolean> {
  const store = await createLocalStore({ root: folder() });
  const keys = new KeyRing([{ key }]);
  return BackupReader.open({ store, backupId, keys, codec: new SegmentCodec() }).then(
    () => true,
    () => false,
  );
}

describe('a rotated key', () => {
  test('opens old backups, in the catalogue at once and in the bucket soon; the former key opens them no more', async () => {
    const id = await bench.backUp();
    const former = await asOwner(bench.app.databaseUrl, async (client) => {
      const { rows } = await client.query(
        'select id, sealed from organization_keys where organization_id = $1 and retired_at is null',
        [bench.as.organizationId],
      );
      return bench.app.platform.keyring.open(rows[0].sealed, `organization_keys:${rows[0].id}`);
    });
    expect(await opensWith(former, id)).toBe(true);
    const url = '/api/v1/organizations/current/encryption-key';
    await bench.app.request('PUT', url, { ...bench.as, body: { key: keyOfCustomer.toString('base64') } });
    const rotated = await bench.app.request('POST', `${url}/rotate`, bench.as);
    expect(rotated.status, rotated.text).toBe(200);
    expect(await bench.get(`/backups/${id}/documents`)).toHaveLength(1);
    await expect.poll(() => opensWith(keyOfCustomer, id)).toBe(true);
    expect(await opensWith(former, id)).toBe(false);
    expect(await bench.get(`/backups/${id}/documents`)).toHaveLength(1);
    const increment = await bench.run({ type: 'incremental' });
    expect(increment).toMatchObject({ status: 'completed', type: 'incremental', parentId: id });
  });
});

describe('a project', () => {
  test('moves to another organization with its backups, its destinations and readable keys', async () => {
    const id = await bench.backUp();
    const other = await foundOrganization(bench.app, bench.shop.owner);
    const there = { token: bench.as.token, organizationId: other };
    const path = `/api/v1/projects/${bench.shop.projectId}`;
    bench.sandbox.control.addFault({ method: 'RunQuery', latencyMs: 2000 });
    const running = (
      await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body: { projectId: bench.shop.projectId } })
    ).body.data.id;
    const busy = await bench.app.request('PATCH', path, { ...bench.as, body: { organizationId: other } });
    expect(busy.body.error).toMatchObject({
      code: 'RESOURCE_IN_USE',
      details: { usedBy: [{ type: 'backup', id: running }] },
    });
    bench.sandbox.control.clearFaults();
    await bench.app.request('POST', `/api/v1/backups/${running}/cancel`, bench.as);

    const moved = await bench.app.request('PATCH', path, { ...bench.as, body: { organizationId: other } });
    expect(moved.status, moved.text).toBe(200);
    const told = await asOwner(bench.app.databaseUrl, (client) =>
      client.query(
        `select organization_id as at, type from outbox_events
          where type in ('project.created', 'project.deleted') and payload->'data'->'project'->>'id' = $1 order by position`,
        [bench.shop.projectId],
      ),
    );
    expect(told.rows.slice(-2)).toEqual([
      { at: bench.as.organizationId, type: 'project.deleted' },
      { at: other, type: 'project.created' },
    ]);
    expect((await bench.app.request('GET', `/api/v1/backups/${id}`, bench.as)).status).toBe(404);
    const backup = (await bench.app.request('GET', `/api/v1/backups/${id}`, there)).body.data;
    expect(backup).toMatchObject({ status: 'completed', projectId: bench.shop.projectId });
    expect(backup.storageDestination.id).not.toBe(bench.shop.destinationId);
    const copied = await bench.app.request(
      'POST',
      `/api/v1/storage-destinations/${backup.storageDestination.id}/test`,
      there,
    );
    expect(copied.body.data.ok, copied.text).toBe(true);
    const documents = await bench.app.request('GET', `/api/v1/backups/${id}/documents`, there);
    expect(documents.body.data, documents.text).toHaveLength(1);
    const left = async () =>
      (await readdir(join(folder(), 'backups', id), { recursive: true, withFileTypes: true }).catch(() => [])).filter(
        (entry) => entry.isFile(),
      );
    await expect.poll(left, { message: 'nothing stays in the folder it came from' }).toEqual([]);
    const sweep = await bench.app.request(
      'GET',
      `/api/v1/storage-destinations/${bench.shop.destinationId}/orphans`,
      bench.as,
    );
    expect(sweep.body.data.filter(({ key }: { key: string }) => key.includes(id))).toEqual([]);
    await asOwner(bench.app.databaseUrl, (client) =>
      client.query('update organization_keys set sealed = null where organization_id = $1', [bench.as.organizationId]),
    );
    const still = await bench.app.request('GET', `/api/v1/backups/${id}/documents`, there);
    expect(still.body.data, still.text).toHaveLength(1);

    const member = await addMember(bench.app, other, 'member');
    const refused = await bench.app.request('PATCH', path, {
      token: member.token,
      organizationId: other,
      body: { organizationId: bench.as.organizationId },
    });
    expect(refused.body.error.code).toBe('PERMISSION_DENIED');
    const stranger = await foundOrganization(bench.app, await signUp(bench.app, 'stranger@example.com'));
    const hidden = await bench.app.request('PATCH', path, { ...there, body: { organizationId: stranger } });
    expect(hidden.body.error.code).toBe('ORGANIZATION_NOT_FOUND');

    await bench.app.request('POST', `/api/v1/backups/${id}/hold`, there);
    const held = await bench.app.request('DELETE', `${path}?deleteBackups=true`, there);
    expect([held.status, held.body.error.code]).toEqual([409, 'INVALID_STATE']);
    expect((await bench.app.request('GET', path, there)).status).toBe(200);
    await bench.app.request('DELETE', `/api/v1/backups/${id}/hold`, there);
    const gone = await bench.app.request('DELETE', `${path}?deleteBackups=true`, there);
    expect(gone.status, gone.text).toBe(200);
    expect((await bench.app.request('GET', `/api/v1/backups/${id}`, there)).status).toBe(404);
    const noted = await bench.app.request('GET', `/api/v1/audit-logs?action=backup.deleted&resourceId=${id}`, there);
    const { id: userId } = bench.shop.owner;
    expect(noted.body.data.map(({ actor }: { actor: { id: string } }) => actor.id)).toEqual([userId]);
    const manifest = join(folder(), 'backups', id, 'manifest');
    await expect
      .poll(
        () =>
          access(manifest).then(
            () => true,
            () => false,
          ),
        { timeout: 15_000 },
      )
      .toBe(false);
  });
});
