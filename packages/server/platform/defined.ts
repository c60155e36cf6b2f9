type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** The fields that were given. A parsed body has `undefined` where a caller left a field out; a change must not have it. */
export function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
