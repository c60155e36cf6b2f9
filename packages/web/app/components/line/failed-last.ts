/** What failed lies over what went well at the same place. */
export const failedLast = <Point extends { readonly kind: string }>(points: readonly Point[]): Point[] => [
  ...points.filter(({ kind }) => kind !== 'failed'),
  ...points.filter(({ kind }) => kind === 'failed'),
];
