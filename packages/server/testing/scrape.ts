import parse from 'parse-prometheus-text-format';
import type { TestApp } from './test-app.ts';

/** The metrics from a standard parser, by name and some of the labels. */
export interface Scrape {
  readonly names: ReadonlySet<string>;
  values(name: string, labels?: Record<string, string>): number[];
}

interface Family {
  name: string;
  metrics: { value?: string; labels?: Record<string, string> }[];
}

export async function scrape(app: TestApp): Promise<Scrape> {
  const { status, text } = await app.request('GET', '/metrics');
  if (status !== 200) throw new Error(text);
  const families = parse(text) as Family[];
  return {
    names: new Set(families.map(({ name }) => name)),
    values: (name, labels = {}) =>
      families
        .filter((family) => family.name === name)
        .flatMap(({ metrics }) => metrics)
        .filter((metric) => Object.entries(labels).every(([key, value]) => (metric.labels?.[key] ?? '') === value))
        .map(({ value }) => Number(value)),
  };
}
