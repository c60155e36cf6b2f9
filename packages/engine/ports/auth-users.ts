import type { SourceCallOptions } from './document-source.ts';

/**
 * The user accounts beside a database. An account is kept as the JSON object that the accounts API returned, so that
 * claims, providers, factors and future fields survive. Ascending by localId (UTF-8 bytes).
 */
export interface AuthUserSource {
  /** How the password hashes were made; without it they cannot be imported elsewhere. */
  hashConfiguration(options?: SourceCallOptions): Promise<AuthHashConfiguration>;
  users(options?: SourceCallOptions): AsyncIterable<AuthUserBatch>;
  /**
   * Ids of Identity Platform tenants, whose accounts are not part of `users`; undefined when the credentials may not
   * ask. The method is absent when the source has no tenants.
   */
  tenantIds?(options?: SourceCallOptions): Promise<readonly string[] | undefined>;
}

export interface AuthUserTarget {
  importUsers(batches: AsyncIterable<AuthUserBatch>, options: AuthImportOptions): Promise<AuthImportResult>;
  /** How many accounts an import would write, as far as the existing accounts show it. Writes nothing. */
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
   * The first accounts that an earlier import settled; of them only the named ones are tried again. A call whose answer
   * was lost is asked again: accounts of it that exist by now count as written.
   */
  readonly settledBefore?: {
    readonly count: number;
    readonly again: ReadonlySet<string>;
    readonly unheard?: AuthImportCall | undefined;
  };
  /** Awaited before each call to the accounts API, and again when the call was refused. */
  readonly onCall?: (call: AuthImportCall) => Promise<void>;
  /** When aborted, no further call begins; calls in progress are waited for. */
  readonly stop?: AbortSignal;
  /** Awaited after each call to the accounts. */
  readonly onSettled?: (progress: AuthImportProgress) => Promise<void>;
}

/** A call that writes at most this many accounts, starting at this position in the given order. */
export interface AuthImportCall {
  readonly at: number;
  readonly accounts: number;
}

export interface AuthImportProgress {
  /** How many accounts, in the given order, are settled. */
  readonly settled: number;
  /** How many were written so far. */
  readonly imported: number;
  /** The accounts of the last call, and which of them were refused. */
  readonly tried: readonly string[];
  readonly refused: readonly string[];
}

export interface AuthImportResult {
  readonly imported: number;
  readonly skipped: number;
  readonly failed: number;
  readonly errors: readonly { readonly localId: string; readonly message: string }[];
}
