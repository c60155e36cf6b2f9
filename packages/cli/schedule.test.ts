// @module-tag long
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { app, backUp, holdfast, shop, useService } from './testing.ts';

useService();

test('schedules are added, shown, changed, run, paused and deleted from the command line', async () => {
  const added = await holdfast('schedule', 'add', 'Shop', 'Nightly', '0 2 * * *', '--keep', 'last:1,daily:7', '--json');
  expect(added.code, added.error).toBe(0);
  expect(added.json).toMatchObject({
    projectId: shop.projectId,
    cron: '0 2 * * *',
    retentionPolicy: { last: 1, daily: 7 },
    enabled: true,
  });
  const listed = await holdfast('schedule', 'list', '--project', 'Shop');
  expect(listed.out).toMatch(/Nightly +0 2 \* \* \* +UTC .* last 1, daily 7/);
  const edited = await holdfast('schedule', 'edit', 'Nightly', '--cron', '30 3 * * 1', '--retention', '30');
  expect(edited.out).toMatch(/Cron +30 3 \* \* 1\n/);
  expect(edited.out).toMatch(/Kept +30 days/);
  expect((await holdfast('schedule', 'pause', 'Nightly', '--json')).json).toMatchObject({ nextRunAt: null });
  expect((await holdfast('schedule', 'resume', 'Nightly', '--json')).json.nextRunAt).toMatch(/T03:30/);
  const run = await holdfast('schedule', 'run', 'Nightly', '--wait', '--json');
  expect([run.code, run.json.status], run.error).toEqual([0, 'completed']);
  const preview = await holdfast('retention', 'preview', 'Nightly');
  expect(preview.out).toContain(run.json.id);
  expect(preview.out).toMatch(/retention, newest_good/);
  expect((await holdfast('schedule', 'show', 'Nightly')).out).toMatch(/Last run +\S+ completed/);
  expect((await holdfast('schedule', 'run', 'Nightly', '--wait')).code).toBe(0);
  const fewer = await holdfast('schedule', 'edit', 'Nightly', '--keep', 'last:1');
  expect([fewer.code, fewer.error]).toEqual([0, expect.stringMatching(/^1 backup kept until now will be removed/)]);
  expect((await holdfast('schedule', 'edit', 'Nightly', '--keep', 'last:1,daily:7')).error).toBe('');
  expect(await holdfast('schedule', 'show', 'Nobody')).toMatchObject({ code: 5 });
  expect((await holdfast('schedule', 'delete', 'Nightly', '--yes')).code).toBe(0);
  expect((await holdfast('schedule', 'list')).out).toBe('There are none.\n');
});

test('a project is changed, and a frozen retention is shown until somebody releases it', async () => {
  const changes = ['--max-reads', '5000', '--read-rate-limit', '900', '--auth-users', '--no-ramp-up'];
  const changed = await holdfast('project', 'update', 'Shop', '--name', 'Store', ...changes, '--json');
  expect(changed.json, changed.error).toMatchObject({
    name: 'Store',
    settings: { maxReadsPerBackup: 5000, readRateLimit: 900, includeAuthUsers: true, writeRampUp: false },
  });
  const back = ['--no-max-reads', '--no-read-rate-limit', '--no-auth-users', '--ramp-up', '--timeout-minutes', '45'];
  expect((await holdfast('project', 'update', 'Store', '--name', 'Shop', ...back)).out).toMatch(/Timeout +45 minutes/);
  expect((await holdfast('project', 'show', 'Shop', '--json')).json).toMatchObject({
    name: 'Shop',
    settings: { maxReadsPerBackup: null, readRateLimit: null, includeAuthUsers: false, writeRampUp: true },
  });
  expect(await holdfast('project', 'update', 'Shop')).toMatchObject({
    code: 2,
    error: expect.stringContaining('what to change'),
  });

  expect((await holdfast('retention', 'unfreeze', 'Shop', '--yes')).error).toMatch(/^INVALID_STATE: /);
  const id = await backUp();
  const segments = join(app.folder, 'storage', shop.organizationId, 'backups', id, 'segments');
  const [segment] = await readdir(segments);
  await writeFile(join(segments, segment!), 'not what was written');
  expect((await holdfast('backup', 'verify', id, '--wait')).code).toBe(3);
  expect((await holdfast('project', 'show', 'Shop')).out).toMatch(
    /Retention +frozen since \S+: verification_failed|Retention +frozen since \S+: A verification/,
  );
  expect(await holdfast('retention', 'unfreeze', 'Shop')).toMatchObject({ code: 2 });
  expect((await holdfast('retention', 'unfreeze', 'Shop', '--yes')).out).toBe('Retention of Shop goes on.\n');
  expect((await holdfast('project', 'show', 'Shop')).out).not.toContain('frozen');
});

test('an expression is explained in words and local times, and a wrong one with its fault', async () => {
  const preview = await holdfast('schedule', 'preview', '30 2 * * *', '--timezone', 'Europe/Berlin', '--count', '2');
  expect(preview.out).toMatch(/^At 02:30 \(Europe\/Berlin\)\n\S+ \d{4}-\d\d-\d\d 02:30 +\S+Z\n/);
  const wrong = await holdfast('schedule', 'preview', '0 2 * * L');
  expect(wrong.code).not.toBe(0);
  expect(wrong.error).toContain('day of the week');
  const short = await holdfast('schedule', 'preview', '0 2 * *');
  const sentence = 'cron: must have five fields: minute, hour, day, month, weekday';
  expect([short.code, short.error.split('\n')[0]]).toEqual([2, `VALIDATION_ERROR: ${sentence}`]);
  expect(short.error.split('must have five fields')).toHaveLength(2);
  expect((await holdfast('schedule', 'run', 'Nightly')).error).toBe(
    'SCHEDULE_NOT_FOUND: There is no schedule Nightly.\nThere is none yet: `holdfast schedule add` makes the first.\n',
  );
});
