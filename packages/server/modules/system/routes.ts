import { timingSafeEqual } from 'node:crypto';
import openapi from '@holdfast/contract/openapi.json' with { type: 'json' };
import type { Handlers } from '../../http/call.ts';
import type { Metrics } from '../../http/metrics.ts';
import type { MetricFamily } from '../../platform/metric-family.ts';
import { Problem } from '../../platform/problem.ts';
import { type HealthSources, reportHealth } from './health.ts';

export interface SystemOptions extends HealthSources {
  metrics: Metrics;
  /** The contents of the database, read for each scrape. */
  measure: () => Promise<MetricFamily[]>;
  metricsToken: string | undefined;
  isBehindProxy: boolean;
  /** False while the process starts and while it shuts down. */
  isReady: () => boolean;
}

export function systemHandlers(options: SystemOptions): Handlers {
  return {
    getHealth: async () => {
      const report = await reportHealth(options);
      return { data: report, status: report.status === 'unhealthy' ? 503 : 200 };
    },
    getLiveness: async () => ({ data: { status: 'ok' } }),
    getReadiness: async () => {
      const ready = options.isReady() && (await reportHealth(options)).checks.database === 'ok';
      return ready ? { data: { status: 'ok' } } : { data: { status: 'unavailable' }, status: 503 };
    },
    getMetrics: async (call) => {
      requireMetricsAccess(options, call.bearer, call.isFromThisMachine);
      return { data: await options.metrics.render(await options.measure()) };
    },
    getOpenApi: async () => ({ data: openapi }),
  };
}

/**
 * With a configured token it is required. Without one only this machine may read metrics, and not through a proxy,
 * which makes everybody look local.
 */
function requireMetricsAccess(
  { metricsToken, isBehindProxy }: SystemOptions,
  given: string | undefined,
  isFromThisMachine: boolean,
): void {
  const mayLook =
    metricsToken === undefined
      ? isFromThisMachine && !isBehindProxy
      : given !== undefined && isEqual(metricsToken, given);
  if (!mayLook) throw new Problem('UNAUTHORIZED', 'Metrics need the bearer token that METRICS_TOKEN sets.');
}

function isEqual(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
