/** One thing a bench claims: a ratio, what it must reach, and whether it did. */
export interface Figure {
  readonly name: string;
  /** Whom or what it is measured against. */
  readonly against: string;
  readonly ratio: number;
  readonly target: number;
  /** Whether reaching the target means being at least or at most it. */
  readonly better: 'higher' | 'lower';
  readonly pass: boolean;
  /** The numbers behind the ratio, for the report. */
  readonly details: Readonly<Record<string, number | string>>;
}

export interface Bench {
  readonly name: string;
  /** One sentence for the report: what is done, to what. */
  readonly about: string;
  run(): Promise<Figure[]>;
}

export function figure(
  name: string,
  against: string,
  ratio: number,
  target: number,
  better: Figure['better'],
  details: Figure['details'],
  isAlsoTrue = true,
): Figure {
  const reached = better === 'higher' ? ratio >= target : ratio <= target;
  return {
    name,
    against,
    ratio: Math.round(ratio * 1000) / 1000,
    target,
    better,
    pass: reached && isAlsoTrue,
    details,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
