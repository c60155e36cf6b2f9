import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What Prometheus may read. Labels are bounded: route patterns, never paths. */
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

  counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  gauge(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }
}
