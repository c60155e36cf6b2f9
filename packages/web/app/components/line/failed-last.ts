/** Sorts failed points last, so that they are drawn on top. */
export const failedLast = <Point extends { readonly kind: string }>(points: readonly Point[]): Point[] => [
  ...points.filter(({ kind }) => kind !== 'failed'),
  ...points.filter(({ kind }) => kind === 'failed'),
];
