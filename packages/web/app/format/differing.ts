/** Entries that are not equal in the other list. */
export const differing = <Values extends object>(values: Partial<Values>, other: Partial<Values>): Partial<Values> =>
  Object.fromEntries(
    Object.entries(values).filter(([key, value]) => other[key as keyof Values] !== value),
  ) as Partial<Values>;
