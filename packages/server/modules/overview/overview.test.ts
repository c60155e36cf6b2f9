// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hourMs } from '../../platform/durations.ts';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { asOwner, type TestPerson } from '../../testing/people.ts';
import { addMember, foundOrganization } from '../../testing/team.ts';
import type { OverviewContext } from './context.ts';
import { usageTask } from './usage.ts';

let bench: BackupBench;
let viewer: TestPerson;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.firestore.doc('users/ada').set({ n: 1 });
  viewer = await addMember(bench.app, bench.as.organizationId, 'viewer');
});
afterAll(() => bench.close());

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
const verdict = async () => {
  const { protection } = (await bench.get('/overview')).projects[0];
  return [protection.state, ...protection.reasons.map(({ code }: { code: string }) => code)];
};

test('a project goes from nothing to protected, and its verdict follows its own schedule as time passes', async () => {
  expect(await verdict()).toEqual(['manual', 'never_backed_up', 'no_schedule']);
  const created = await call('POST', '/schedules', {
    projectId: bench.shop.projectId,
    name: 'Nightly',
    cron: '0 2 * * *',
  });
  const schedule = created.body.data;
  expect(await verdict()).toEqual(['unprotected', 'never_backed_up']);
  const backupId = await bench.backUp();
  expect(await verdict()).toEqual(['protected']);
  const overview = await bench.get('/overview');
  expect(overview.projects[0]).toMatchObject({
    id: bench.shop.projectId,
    newestBackup: { id: backupId, type: 'full', documentCount: 1, verifiedAt: null },
    schedule: { id: schedule.id, name: 'Nightly', intervalSeconds: 86_400, nextRunAt: schedule.nextRunAt },
    lastDrill: null,
    anomalies: [],
    retentionFrozen: null,
  });
  expect(overview.nextRuns).toEqual([
    { scheduleId: schedule.id, name: 'Nightly', projectId: bench.shop.projectId, at: schedule.nextRunAt, type: 'full' },
  ]);
  expect(overview.days).toHaveLength(1);
  expect(overview.days[0].storedBytes).toBeGreaterThan(0);
  expect(overview.days[0].storedByDestination).toEqual([
    { storageDestinationId: bench.shop.destinationId, storedBytes: overview.days[0].storedBytes },
  ]);
  expect(overview.days[0].readsUsed).toBeGreaterThan(0);
  expect(overview.readsByProject).toEqual([{ projectId: expect.any(String), readsUsed: overview.days[0].readsUsed }]);
  // The schedule is not run meanwhile, as if the service had been down.
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(`update schedules set next_run_at = now() + interval '1 year'`),
  );
  expect(await bench.inDays(2, verdict)).toEqual(['at_risk', 'late']);
  expect(await bench.inDays(4, verdict)).toEqual(['unprotected', 'very_late']);
  await call('PATCH', `/schedules/${schedule.id}`, { enabled: false });
  expect(await verdict()).toEqual(['manual', 'schedule_disabled']);
  // Switched on again after four days, the schedule owes nothing for the time in between.
  const afterOn = await bench.inDays(4, async () => {
    await call('PATCH', `/schedules/${schedule.id}`, { enabled: true });
    return verdict();
  });
  expect(afterOn).toEqual(['protected']);
  await call('DELETE', `/schedules/${schedule.id}`);
});

test('faults of the connection, the storage, the last backups and their contents are explained in words', async () => {
  const created = await call('POST', '/schedules', {
    projectId: bench.shop.projectId,
    name: 'Hourly',
    cron: '0 * * * *',
  });
  for (let n = 0; n < 2; n++) {
    bench.sandbox.control.addFault({ method: 'RunQuery', status: 'PERMISSION_DENIED' });
    expect((await bench.run()).status).toBe('failed');
  }
  bench.sandbox.control.clearFaults();
  expect(await verdict()).toEqual(['unprotected', 'unauthorized', 'failing']);
  const { message } = (await bench.get('/overview')).projects[0].protection.reasons[0];
  expect(message).toMatch(/reconnect the project/i);
  await bench.backUp();
  expect(await verdict()).toEqual(['protected']);
  await asOwner(bench.app.databaseUrl, (client) => client.query(`update storage_destinations set status = 'error'`));
  expect(await verdict()).toEqual(['at_risk', 'storage_error']);
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(`update storage_destinations set status = 'connected'`),
  );
  for (let n = 0; n < 3; n++) await bench.firestore.doc(`users/u${n}`).set({ n });
  await bench.backUp();
  bench.clear();
  const shrunken = await bench.backUp();
  const [project] = (await bench.get('/overview')).projects;
  expect(project.protection).toMatchObject({ state: 'at_risk', reasons: [{ code: 'anomaly' }] });
  expect(project.anomalies).toMatchObject([{ backupId: shrunken, reason: 'documents_shrank' }]);
  await call('POST', `/projects/${bench.shop.projectId}/retention/unfreeze`);
  expect((await bench.get('/overview')).projects[0].anomalies).toEqual([]);
  await call('DELETE', `/schedules/${created.body.data.id}`);
});

test('a backup is as old as its data: neither a long run nor a merge makes it younger', async () => {
  const created = await call('POST', '/schedules', {
    ...{ projectId: bench.shop.projectId, name: 'Nightly', cron: '0 2 * * *', type: 'incremental' },
  });
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(`update schedules set next_run_at = now() + interval '1 year'`),
  );
  await bench.backUp();
  await bench.firestore.doc('users/eve').set({ n: 2 });
  const { snapshotTime } = await bench.get(`/backups/${await bench.backUp({ type: 'incremental' })}`);
  const [told] = (await bench.get('/overview')).projects;
  expect(Date.parse(told.newestBackup.snapshotTime)).toBe(Date.parse(snapshotTime));
  expect(told.newestBackup.snapshotTime < told.newestBackup.completedAt).toBe(true);
  const { statistics } = await bench.get(`/projects/${bench.shop.projectId}`);
  expect(Date.parse(statistics.newestSnapshotTime)).toBe(Date.parse(snapshotTime));
  const late = await bench.inDays(2, async () => {
    expect((await bench.run({ type: 'synthetic' })).status).toBe('completed');
    return verdict();
  });
  expect(late).toEqual(['at_risk', 'late']);
  // A merge is made last but holds old data; the age of a project's backups is that of the newest data.
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(
      `update backups set document_count = 7, snapshot_time = '2020-01-01T00:00:00.000000Z' where type = 'synthetic'`,
    ),
  );
  const merged = (await bench.get(`/projects/${bench.shop.projectId}`)).statistics;
  expect(merged.documentCount).toBe(told.newestBackup.documentCount);
  expect(Date.parse(merged.lastBackupAt)).toBe(Date.parse(told.newestBackup.completedAt));
  await call('DELETE', `/schedules/${created.body.data.id}`);
});

test('a newest backup that was found damaged protects nothing until there is another, also after somebody looked', async () => {
  const sql = (text: string, values: unknown[] = []) =>
    asOwner(bench.app.databaseUrl, (client) => client.query(text, values));
  const created = await call('POST', '/schedules', {
    ...{ projectId: bench.shop.projectId, name: 'Hourly', cron: '0 * * * *', type: 'incremental' },
  });
  await bench.backUp();
  const damaged = await bench.backUp();
  expect(await verdict()).toEqual(['protected']);
  const find = (code: string) => {
    const found = { status: 'failed', segments: 1, documents: 0, errors: [{ code, message: code, object: null }] };
    return sql('update backups set verification = $2 where id = $1', [damaged, JSON.stringify(found)]);
  };
  await find('STORAGE_UNAVAILABLE');
  expect(await verdict()).toEqual(['protected']);
  await find('INTEGRITY_ERROR');
  expect(await verdict()).toEqual(['unprotected', 'damaged']);
  expect((await bench.get('/overview')).projects[0].newestBackup.id).not.toBe(damaged);
  await bench.backUp();
  expect(await verdict()).toEqual(['protected']);
  const nextType = async () => (await bench.get('/overview')).nextRuns[0].type;
  expect(await nextType()).toBe('full');
  await sql('update schedules set run_count = 1');
  expect(await nextType()).toBe('incremental');
  await call('DELETE', `/schedules/${created.body.data.id}`);
});

test('measured days stay when their backups are gone, and another organization sees none of them', async () => {
  const { run } = usageTask({ platform: bench.app.platform } as OverviewContext);
  const { signal } = new AbortController();
  await run(signal);
  const [today] = (await bench.get('/overview')).days;
  await asOwner(bench.app.databaseUrl, (client) => client.query(`update backups set deleted_at = now()`));
  bench.app.clock.advance(25 * hourMs);
  await run(signal);
  const days = await bench.inDays(0, async () => (await bench.get('/overview')).days);
  expect(today.storedByDestination).toHaveLength(1);
  expect(days).toMatchObject([today, { storedBytes: 0, storedByDestination: [], readsUsed: 0 }]);
  bench.app.clock.advance(-25 * hourMs);
  const other = await foundOrganization(bench.app);
  const seen = await bench.app.request('GET', '/api/v1/overview', {
    token: other.owner.token,
    organizationId: other.id,
  });
  expect(seen.body.data).toMatchObject({ projects: [], nextRuns: [], days: [{ storedBytes: 0, readsUsed: 0 }] });
});

/** Follows the organization until the work is done. */
async function follow(token: string, work: (seen: { kind: string; id: string; change: string }[]) => Promise<void>) {
  const stop = new AbortController();
  const answer = await fetch(`${bench.app.address}/api/v1/organizations/current/events`, {
    headers: { authorization: `Bearer ${token}`, 'x-organization-id': bench.as.organizationId },
    signal: stop.signal,
  });
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  const seen: { kind: string; id: string; change: string }[] = [];
  const reading = (async () => {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const piece of answer.body!) {
      const lines = (rest + decoder.decode(piece as Uint8Array, { stream: true })).split('\n');
      rest = lines.pop()!;
      for (const line of lines) if (line.startsWith('data: ')) seen.push(JSON.parse(line.slice(6)));
    }
  })().catch(() => undefined);
  await work(seen);
  stop.abort();
  await reading;
}

test('changes are sent as they happen, by kind and id, to those who may see them', async () => {
  await follow(bench.as.token, async (ofOwner) => {
    await follow(viewer.token, async (ofViewer) => {
      const invited = await call('POST', '/organizations/current/invites', { email: 'new@example.com' });
      const created = await call('POST', '/schedules', {
        projectId: bench.shop.projectId,
        name: 'S',
        cron: '0 3 * * *',
      });
      const { id } = created.body.data;
      await expect.poll(() => ofViewer.some((change) => change.id === id && change.change === 'created')).toBe(true);
      await expect.poll(() => ofOwner.some((change) => change.id === invited.body.data.id)).toBe(true);
      await call('DELETE', `/schedules/${id}`);
      await expect
        .poll(() => ofViewer.find(({ kind, change }) => kind === 'schedule' && change === 'deleted'))
        .toMatchObject({
          kind: 'schedule',
          id,
          projectId: bench.shop.projectId,
        });
      expect(ofViewer.filter(({ kind }) => kind === 'invitation')).toEqual([]);
    });
  });
});

test('a key gets changes of what its scopes let it read, and of nothing else', async () => {
  const account = { name: 'Ear', permissions: ['organization:read', 'schedules:read'] };
  let apiKey = '';
  // A stream is cut off when the account changes, so its creation has to be over.
  await follow(bench.as.token, async (seen) => {
    const made = await call('POST', '/organizations/current/service-account', account);
    expect(made.status, made.text).toBe(201);
    apiKey = made.body.data.apiKey;
    await expect.poll(() => seen.map(({ kind }) => kind)).toContain('service_account');
  });
  await follow(apiKey, async (seen) => {
    const schedule = { projectId: bench.shop.projectId, name: 'S', cron: '0 3 * * *' };
    const backupId = await bench.backUp();
    const { id } = (await call('POST', '/schedules', schedule)).body.data;
    await expect.poll(() => seen.map((change) => change.id)).toContain(id);
    expect(seen.map((change) => change.id)).not.toContain(backupId);
    expect(seen.filter(({ kind }) => kind !== 'schedule')).toEqual([]);
    await call('DELETE', `/schedules/${id}`);
  });
});

test('a former member gets nothing more', async () => {
  await follow(viewer.token, async (seen) => {
    await asOwner(bench.app.databaseUrl, (client) =>
      client.query('delete from memberships where user_id = $1', [viewer.id]),
    );
    const created = await call('POST', '/schedules', { projectId: bench.shop.projectId, name: 'S', cron: '0 3 * * *' });
    await follow(bench.as.token, async () => undefined);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(seen.filter(({ id }) => id === created.body.data.id)).toEqual([]);
  });
});

test('backups whose key was withdrawn protect nothing until it is back', async () => {
  const { id: organizationId, owner } = await foundOrganization(bench.app);
  const as = { token: owner.token, organizationId };
  const ask = (method: string, path: string, body?: object) =>
    bench.app.request(method, `/api/v1${path}`, { ...as, ...(body ? { body } : {}) });
  await ask('POST', '/storage-destinations', { name: 'Folder', type: 'local', path: 'sealed' });
  const connection = { type: 'emulator', host: bench.sandbox.address };
  const projectId = (await ask('POST', '/projects', { name: 'Sealed', sourceProjectId: 'shop', connection })).body.data
    .id;
  const state = async () => (await ask('GET', '/overview')).body.data.projects[0];
  const backUp = async () => {
    const { id } = (await ask('POST', '/backups', { projectId })).body.data;
    await expect.poll(async () => (await ask('GET', `/backups/${id}`)).body.data.status).toBe('completed');
    return id;
  };
  const key = '/organizations/current/encryption-key';
  await ask('POST', '/schedules', { projectId, name: 'Nightly', cron: '0 2 * * *' });
  const open = await backUp();
  const set = await ask('PUT', key, { passphrase: 'a key of our own' });
  expect(set.status, set.text).toBeLessThan(300);
  const sealed = await backUp();
  expect(await state()).toMatchObject({ protection: { state: 'protected' }, newestBackup: { id: sealed } });
  expect((await ask('DELETE', key)).status).toBeLessThan(300);
  expect(await state()).toMatchObject({ newestBackup: { id: open } });
  await ask('DELETE', `/backups/${open}`);
  expect(await state()).toMatchObject({
    protection: { state: 'unprotected', reasons: [{ code: 'key_withdrawn' }] },
    newestBackup: null,
  });
  await ask('PUT', key, { passphrase: 'a key of our own' });
  expect(await state()).toMatchObject({ protection: { state: 'protected' }, newestBackup: { id: sealed } });
});
