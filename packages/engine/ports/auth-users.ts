import type { SourceCallOptions } from './document-source.ts';

/**
 * The user accounts beside a database. An account is kept as the JSON object the accounts API returned, so claims,
 * providers, factors and fields of tomorrow survive. Ascending by localId (UTF-8 bytes).
 */
export interface AuthUserSource {
  /** How the password hashes were made; without it they cannot be imported elsewhere. */
  hashConfiguration(options?: SourceCallOptions): Promise<AuthHashConfiguration>;
  users(options?: SourceCallOptions): AsyncIterable<AuthUserBatch>;
  /** Ids of Identity Platform tenants, whose accounts are not among `users`. Absent: the source has none. */
  tenantIds?(options?: SourceCallOptions): Promise<readonly string[]>;
}

export interface AuthUserTarget {
  importUsers(batches: AsyncIterable<AuthUserBatch>, options: AuthImportOptions): Promise<AuthImportResult>;
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

export interface AuthImportOptions extends SourceCallOptions {
  readonly hashConfiguration: AuthHashConfiguration;
  readonly mode: 'overwrite' | 'skip_existing';
}

export interface AuthImportResult {
  readonly imported: number;
  readonly skipped: number;
  readonly failed: number;
  readonly errors: readonly { readonly localId: string; readonly message: string }[];
}
