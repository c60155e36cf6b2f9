/** User accounts with everything needed to restore them: claims, providers, factors, hashes and how they were made. */

import {
  type AuthHashConfiguration,
  type AuthImportOptions,
  type AuthImportResult,
  type AuthImportRules,
  type AuthUser,
  type AuthUserBatch,
  type AuthUserSource,
  type AuthUserTarget,
  isEngineError,
  type SourceCallOptions,
} from '../../../ports/index.ts';
import type { AccountsClient } from './accounts-client.ts';
import { countImportable, importUsers } from './import-users.ts';
import { hasPasswordSignIn, isRedacted, unknownAlgorithm } from './redaction.ts';

const pageSize = 1000;

interface HashConfig {
  readonly algorithm?: string;
  readonly signerKey?: string;
  readonly saltSeparator?: string;
  readonly rounds?: number;
  readonly memoryCost?: number;
}

export class FirestoreAuthUsers implements AuthUserSource, AuthUserTarget {
  readonly #accounts: AccountsClient;

  constructor(accounts: AccountsClient) {
    this.#accounts = accounts;
  }

  /**
   * The hash parameters, and whether hashes can be read at all. They cannot when these credentials may not read the
   * configuration, or when the first users with a password come without a hash.
   */
  async hashConfiguration(options: SourceCallOptions = {}): Promise<AuthHashConfiguration> {
    const config = await this.#hashConfig(options.signal);
    const redacted = config === undefined || (await this.#firstPageIsRedacted(options.signal));
    if (config === undefined) return { algorithm: unknownAlgorithm, passwordHashesRedacted: redacted };
    const { algorithm, signerKey, saltSeparator, rounds, memoryCost } = config;
    return {
      algorithm: algorithm ?? unknownAlgorithm,
      ...(signerKey === undefined ? {} : { signerKey }),
      ...(saltSeparator === undefined ? {} : { saltSeparator }),
      ...(rounds === undefined ? {} : { rounds }),
      ...(memoryCost === undefined ? {} : { memoryCost }),
      passwordHashesRedacted: redacted,
    };
  }

  async *users(options: SourceCallOptions = {}): AsyncGenerator<AuthUserBatch, void> {
    let token = '';
    do {
      const page = await this.#page(token, options.signal);
      const users = (page.users as AuthUser[] | undefined) ?? [];
      if (users.length > 0) yield { users };
      token = (page.nextPageToken as string | undefined) ?? '';
    } while (token !== '');
  }

  async tenantIds(options: SourceCallOptions = {}): Promise<readonly string[] | undefined> {
    const ids: string[] = [];
    let pageToken = '';
    try {
      do {
        const query = new URLSearchParams({ pageSize: String(pageSize), ...(pageToken === '' ? {} : { pageToken }) });
        const page = await this.#accounts.get(`tenants?${query}`, options.signal, 'v2');
        for (const { name } of (page.tenants as { name: string }[] | undefined) ?? [])
          ids.push(name.split('/').at(-1)!);
        pageToken = (page.nextPageToken as string | undefined) ?? '';
      } while (pageToken !== '');
    } catch (error) {
      if (isPermissionDenied(error)) return undefined;
      // Projects without Identity Platform refuse this call, and so have no tenants.
      const isRefusal = isEngineError(error, 'VALIDATION_ERROR') || isEngineError(error, 'SOURCE_NOT_FOUND');
      if (!isRefusal) throw error;
    }
    return ids;
  }

  importUsers(batches: AsyncIterable<AuthUserBatch>, options: AuthImportOptions): Promise<AuthImportResult> {
    return importUsers(this.#accounts, batches, options);
  }

  countImportable(batches: AsyncIterable<AuthUserBatch>, options: AuthImportRules): Promise<number> {
    return countImportable(this.#accounts, batches, options);
  }

  #page(token: string, signal: AbortSignal | undefined) {
    const query = new URLSearchParams({
      maxResults: String(pageSize),
      ...(token === '' ? {} : { nextPageToken: token }),
    });
    return this.#accounts.get(`accounts:batchGet?${query}`, signal);
  }

  async #hashConfig(signal: AbortSignal | undefined): Promise<HashConfig | undefined> {
    try {
      const config = await this.#accounts.get('config', signal, 'admin/v2');
      return (config.signIn as { hashConfig?: HashConfig } | undefined)?.hashConfig;
    } catch (error) {
      // Without this permission users can still be read, but their passwords cannot be restored.
      if (isPermissionDenied(error)) return undefined;
      throw error;
    }
  }

  async #firstPageIsRedacted(signal: AbortSignal | undefined): Promise<boolean> {
    const page = await this.#page('', signal);
    const users = ((page.users as AuthUser[] | undefined) ?? []).filter(hasPasswordSignIn);
    return users.some(isRedacted);
  }
}

function isPermissionDenied(error: unknown): boolean {
  return isEngineError(error, 'SOURCE_AUTH_ERROR') && error.details.grpcCode === 'PERMISSION_DENIED';
}
