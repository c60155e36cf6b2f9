import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';
import { fewestThatReach, notReachedBy } from './bases-needed.ts';

const stretch = (from: string, through: string) => ({ from, through });

describe('what no other base reaches', () => {
  test.each([
    ['all of it without others', [], [stretch('b', 'f')]],
    ['nothing beside an older one', [stretch('a', 'f')], []],
    ['what lies before a newer one', [stretch('d', 'f')], [stretch('b', 'd')]],
    ['what lies around another', [stretch('c', 'd')], [stretch('b', 'c'), stretch('d', 'f')]],
    ['nothing where two others meet', [stretch('a', 'c'), stretch('c', 'g')], []],
    ['all of it beside one that shows a single moment', [stretch('c', 'c')], [stretch('b', 'f')]],
  ])('is %s', (_name, others, lost) => {
    expect(notReachedBy([stretch('b', 'f')], others)).toEqual(lost);
  });

  test('is nothing where only a single moment is shown: that is a backup and no captured time', () => {
    expect(notReachedBy([stretch('b', 'b')], [])).toEqual([]);
  });
});

describe('the fewest bases that reach everything', () => {
  const base = (id: string, at: string, end: string, isOwn = false, isSound = true) => {
    const from = at > 'c' ? at : 'c';
    return { id, isOwn, isSound, exactFrom: at, stretches: from < end ? [stretch(from, end)] : [] };
  };
  test.each([
    ['the newest before what is kept', [base('1', 'a', 'z'), base('2', 'b', 'z'), base('3', 'd', 'z')], ['2']],
    ['the oldest where all are younger', [base('1', 'e', 'z'), base('2', 'f', 'z')], ['1']],
    ['one on each side of a gap', [base('1', 'b', 'g'), base('2', 'i', 'z'), base('3', 'k', 'z')], ['1', '2']],
    ['none beside one of its own', [base('own', 'a', 'z', true), base('2', 'b', 'z')], []],
    [
      'one that can be read, beside one of its own that cannot',
      [base('own', 'a', 'z', true, false), base('2', 'b', 'z')],
      ['2'],
    ],
    ['one that can be read rather than a newer one', [base('1', 'a', 'z'), base('2', 'b', 'z', false, false)], ['1']],
    ['none whose time is over', [base('1', 'a', 'b')], []],
  ])('are %s', (_name, bases, needed) => {
    expect(fewestThatReach(bases, 'c')).toEqual(needed);
  });
});

describe('a backup from which alone captured time can be reached', () => {
  let bench: BackupBench;
  beforeAll(async () => {
    const environment = { PITR_SEGMENT_SECONDS: '0.1', ACCESS_TOKEN_TTL: '86400' };
    bench = await startBackupBench(environment, { listenMode: 'as-production', listenHeartbeatMs: 50 });
    await bench.startOver();
    await ask('POST', `${pitr()}/enable`, { retentionDays: 3 });
  });
  afterAll(() => bench.close());

  const pitr = () => `/projects/${bench.shop.projectId}/pitr`;
  const ask = (method: string, path: string, body?: object) =>
    bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
  const captured = async () => {
    const since = Date.now();
    const coveredTo = async () => Date.parse((await bench.get(pitr())).coveredTo ?? 0);
    await expect.poll(coveredTo).toBeGreaterThan(since + 100);
  };
  const baseId = async () =>
    (await bench.get('/backups?limit=200')).find(({ trigger }: { trigger: string }) => trigger === 'pitr').id;

  test('is not deleted: the refusal names the log, the time that would be lost, and the way out', async () => {
    await captured();
    const id = await baseId();
    const refused = await ask('DELETE', `/backups/${id}`);
    expect([refused.status, refused.body.error?.code], refused.text).toEqual([409, 'RESOURCE_IN_USE']);
    expect(refused.body.error.details).toEqual({ usedBy: [{ type: 'pitr', id: bench.shop.projectId }] });
    const { snapshotTime } = await bench.get(`/backups/${id}`);
    expect(refused.body.error.message).toContain(`between ${snapshotTime.slice(0, 19)}`);
    expect(refused.body.error.message).toContain('3 days of the log, or switch off with deleteLog first');
    expect((await bench.get(pitr())).status).toBe('running');
  });

  test('is not deleted either when a later one reaches the rest; the later one is, for the first reaches all of it', async () => {
    const later = await bench.backUp({ type: 'full' });
    await captured();
    expect((await ask('DELETE', `/backups/${await baseId()}`)).status).toBe(409);
    expect((await ask('DELETE', `/backups/${later}`)).status).toBe(200);
  });

  test('is not deleted while the log is switched off and kept, and is once its time is older than the days of the log', async () => {
    const id = await baseId();
    await ask('POST', `${pitr()}/disable`);
    expect((await ask('DELETE', `/backups/${id}`)).status).toBe(409);
    const gone = await bench.inDays(4, () => ask('DELETE', `/backups/${id}`));
    expect(gone.status, gone.text).toBe(200);
  });

  test('is deleted once the log is', async () => {
    await ask('POST', `${pitr()}/enable`);
    await captured();
    const id = await baseId();
    expect((await ask('DELETE', `/backups/${id}`)).status).toBe(409);
    await ask('POST', `${pitr()}/disable`, { deleteLog: true });
    const gone = await ask('DELETE', `/backups/${id}`);
    expect(gone.status, gone.text).toBe(200);
  });
});
