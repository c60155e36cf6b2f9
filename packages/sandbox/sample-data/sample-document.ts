export interface SampleDocument {
  /** Relative to the database: `users/ada`. */
  readonly path: string;
  /** Encoded field entries. */
  readonly fields: Uint8Array;
}
