/** One figure of what exists, as it stands in the database at this moment. */
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
