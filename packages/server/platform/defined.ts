type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** The fields that were given. In a parsed body a missing field is `undefined`, which must not reach a change. */
export function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
