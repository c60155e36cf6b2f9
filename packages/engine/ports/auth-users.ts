import type { SourceCallOptions } from './document-source.ts';

/**
 * The user accounts beside a database. An account is kept as the JSON object the accounts API returned, so claims,
 * providers, factors and fields of tomorrow survive. Ascending by localId (UTF-8 bytes).
 */
export interface AuthUserSource {
  /** How the password hashes were made; without it they cannot be imported elsewhere. */
  hashConfiguration(options?: SourceCallOptions): Promise<AuthHashConfiguration>;
  users(options?: SourceCallOptions): AsyncIterable<AuthUserBatch>;
  /** Ids of Identity Platform tenants, whose accounts are not among `users`; undefined for who may not ask. Absent: the source has none. */
  tenantIds?(options?: SourceCallOptions): Promise<readonly string[] | undefined>;
}

export interface AuthUserTarget {
  importUsers(batches: AsyncIterable<AuthUserBatch>, options: AuthImportOptions): Promise<AuthImportResult>;
  /** How many of them an import would write, as far as the accounts that are there tell it. Writes nothing. */
  countImportable(batches: AsyncIterable<AuthUserBatch>, options: AuthImportRules): Promise<number>;
}

export interface AuthUser {
  readonly localId: string;
  readonly [field: string]: unknown;
}

export interface AuthUserBatch {
  readonly users: readonly AuthUser[];
}

export interface AuthHashConfiguration {
  readonly algorithm: string;
  readonly signerKey?: string;
  readonly saltSeparator?: string;
  readonly rounds?: number;
  readonly memoryCost?: number;
  /** True when the credentials may not see password hashes, so users would come back without passwords. */
  readonly passwordHashesRedacted: boolean;
}

export interface AuthImportRules extends SourceCallOptions {
  readonly hashConfiguration: AuthHashConfiguration;
  readonly mode: 'overwrite' | 'skip_existing';
}

export interface AuthImportOptions extends AuthImportRules {
  /**
   * So many at the beginning were settled by an earlier import; of them only these are tried again. What it asked and was not
   * answered is asked once more: whoever of those accounts is there by now counts as written.
   */
  readonly settledBefore?: {
    readonly count: number;
    readonly again: ReadonlySet<string>;
    readonly unheard?: AuthImportCall | undefined;
  };
  /** Awaited before each call to the accounts, and again when it was refused. */
  readonly onCall?: (call: AuthImportCall) => Promise<void>;
  /** Aborted: no further call is begun, what is under way is waited for. */
  readonly stop?: AbortSignal;
  /** Awaited after each call to the accounts. */
  readonly onSettled?: (progress: AuthImportProgress) => Promise<void>;
}

/** So many accounts at most are written from this place on, in the order in which they are given. */
export interface AuthImportCall {
  readonly at: number;
  readonly accounts: number;
}

export interface AuthImportProgress {
  /** How many of all, in the order in which they are given, are settled. */
  readonly settled: number;
  /** How many were written by now. */
  readonly imported: number;
  /** Those of the last call, and which of them were refused. */
  readonly tried: readonly string[];
  readonly refused: readonly string[];
}

export interface AuthImportResult {
  readonly imported: number;
  readonly skipped: number;
  readonly failed: number;
  readonly errors: readonly { readonly localId: string; readonly message: string }[];
}
