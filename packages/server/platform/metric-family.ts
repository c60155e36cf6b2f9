/** One metric of what exists, with its present values in the database. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  /** A counter only grows. */
  readonly type: 'gauge' | 'counter';
  readonly samples: readonly MetricSample[];
}

export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
