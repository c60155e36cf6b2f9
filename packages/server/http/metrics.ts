import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricFamily } from '../platform/metric-family.ts';

/** The metrics for Prometheus. Labels are bounded: route patterns, never paths. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Histogram;

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Histogram({
      name: 'holdfast_http_request_duration_seconds',
      help: 'Duration of HTTP requests.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers: [this.registry],
    });
  }

  observeRequest(method: string, route: string, status: number, durationMs: number): void {
    this.#requests.labels(method, route, String(status)).observe(durationMs / 1000);
  }

  /** This process's own metrics and the given families. The families are not kept, so removed things have no series. */
  async render(families: readonly MetricFamily[]): Promise<string> {
    const read = new Registry();
    for (const family of families) if (family.samples.length > 0) addFamily(read, family);
    return `${await this.registry.metrics()}${await read.metrics()}`;
  }
}

function addFamily(registry: Registry, { name, help, type, samples }: MetricFamily): void {
  const labelNames = Object.keys(samples[0]?.labels ?? {});
  const options = { name, help, labelNames, registers: [registry] };
  if (type === 'gauge') {
    const gauge = new Gauge(options);
    for (const { labels, value } of samples) gauge.set(labels, value);
  } else {
    const counter = new Counter(options);
    for (const { labels, value } of samples) counter.inc(labels, value);
  }
}
