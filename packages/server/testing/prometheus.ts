import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endProcess, freePort, untilListening } from '../../engine/testing/foreign-process.ts';

const repository = new URL('../../../', import.meta.url);
const rulesFile = fileURLToPath(new URL('deploy/prometheus/holdfast.rules.yaml', repository));
const monitoring = readFileSync(new URL('docs/monitoring.md', repository), 'utf8');

export const isPrometheusInstalled = ['prometheus', 'promtool'].every(
  (command) => spawnSync(command, ['--version']).status === 0,
);

interface Alert {
  state: 'pending' | 'firing';
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** Each call fills its own part. */
interface Answer {
  alerts: Alert[];
  result: { value: [atSeconds: number, value: string] }[];
}

export interface Prometheus {
  /** The output of `promtool check config` for the page's configuration with our rules. */
  readonly checked: string;
  alerts(): Promise<Alert[]>;
  query(expression: string): Promise<number[]>;
  stop(): Promise<void>;
}

/** A Prometheus set up as in docs/monitoring.md, with our rules, but scraping each second. */
export async function startPrometheus(address: string, token: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-prometheus-'));
  const config = join(folder, 'prometheus.yml');
  const [, onThePage = ''] = /```yaml\n(rule_files:[\s\S]+?)```/.exec(monitoring) ?? [];
  const settings = onThePage
    .replace('/etc/prometheus/holdfast.rules.yaml', rulesFile)
    .replace('/etc/prometheus/holdfast.token', join(folder, 'holdfast.token'))
    .replace('backups.example.com:8787', new URL(address).host);
  writeFileSync(join(folder, 'holdfast.token'), token);
  writeFileSync(config, `global: { scrape_interval: 1s, evaluation_interval: 1s }\n${settings}`);
  const checked = execFileSync('promtool', ['check', 'config', config]).toString();
  const port = await freePort();
  const own = [`--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=127.0.0.1:${port}`];
  const child = spawn('prometheus', [`--config.file=${config}`, ...own], { stdio: 'ignore' });
  const stop = async () => {
    await endProcess(child);
    rmSync(folder, { recursive: true, force: true });
  };
  await untilListening(child, port, 'Prometheus').catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const get = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return ((await answer.json()) as { data: Answer }).data;
  };
  return {
    checked,
    alerts: async () => (await get('alerts')).alerts,
    query: async (expression) =>
      (await get(`query?query=${encodeURIComponent(expression)}`)).result.map(({ value }) => Number(value[1])),
    stop,
  };
}
