import { expect, test } from 'vitest';
import { hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { isPrometheusInstalled, startPrometheus } from '../../../testing/prometheus.ts';

const token = 'token-of-the-metrics';

test.skipIf(!isPrometheusInstalled)(
  'in a real Prometheus an alert fires when backups of a schedule fail, and resolves with the next good one (needs prometheus)',
  async () => {
    await using stack = new AsyncDisposableStack();
    const bench = await startBackupBench({ ...hasty, METRICS_TOKEN: token });
    stack.defer(() => bench.close());
    await bench.startOver();
    const call = async (path: string, body: object = {}) => {
      const answer = await bench.app.request('POST', `/api/v1${path}`, { ...bench.as, body });
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body.data;
    };
    const body = { projectId: bench.shop.projectId, name: 'Nightly', cron: '0 2 * * *', drillEvery: 7 };
    const schedule = await call('/schedules', body);
    const runSchedule = async () => {
      const { id } = await call(`/schedules/${schedule.id}/run`);
      await expect.poll(async () => (await bench.get(`/backups/${id}`)).status).toMatch(/completed|failed/);
    };
    const prometheus = await startPrometheus(bench.app.address, token);
    stack.defer(() => prometheus.stop());
    expect(prometheus.checked).toContain('SUCCESS: 1 rule files found');
    const firing = async () =>
      (await prometheus.alerts()).filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);

    await expect.poll(() => prometheus.query('holdfast_metrics_database_readable')).toEqual([1]);
    await expect.poll(() => prometheus.query('holdfast_backup_runs_total{status="failed"}')).toEqual([0]);
    expect(await firing()).toEqual([]);

    bench.sandbox.control.addFault({ method: 'RunQuery', status: 'PERMISSION_DENIED', times: 100 });
    await runSchedule();
    await expect.poll(firing).toEqual(expect.arrayContaining(['HoldfastScheduleFailing', 'HoldfastBackupFailed']));
    const alert = (await prometheus.alerts()).find(({ labels }) => labels.alertname === 'HoldfastScheduleFailing');
    const { organizationId: organization, projectId: project } = bench.shop;
    expect(alert?.labels).toMatchObject({ organization, project, schedule: schedule.id, severity: 'warning' });
    expect(alert?.annotations.summary).toContain(schedule.id);

    bench.sandbox.control.clearFaults();
    await runSchedule();
    await expect.poll(firing).not.toContain('HoldfastScheduleFailing');
    // The alert stays for an hour, also after a failure that was followed by a good backup.
    expect(await firing()).toContain('HoldfastBackupFailed');
  },
);
