/** Imports accounts with their ids, claims and password hashes; a refused account does not stop the others. */

import {
  type AuthHashConfiguration,
  type AuthImportOptions,
  type AuthImportResult,
  type AuthImportRules,
  type AuthUser,
  type AuthUserBatch,
  EngineError,
  isEngineError,
} from '../../../ports/index.ts';
import type { AccountsClient, JsonObject } from './accounts-client.ts';
import { hasPasswordSignIn, isPasswordLost } from './redaction.ts';

const usersPerCall = 500;
/** As many as one lookup takes. */
const lookupMax = 100;
const errorsMax = 100;
const keptPassword =
  'Not overwritten: the account has a password, and the backup was made without the right to read hashes and how they are made.';
const exists = /existing account|already exists/i;

/** Fields that the API returns but does not accept. */
const readOnlyFields = ['kind', 'version', 'passwordUpdatedAt', 'lastRefreshAt', 'tenantId', 'rawPassword'];

export async function importUsers(
  accounts: AccountsClient,
  batches: AsyncIterable<AuthUserBatch>,
  options: AuthImportOptions,
): Promise<AuthImportResult> {
  const work = new UserImport(accounts, options);
  for await (const { users } of batches)
    for (let offset = 0; offset < users.length; offset += usersPerCall) {
      const isStopped = await work.take(users.slice(offset, offset + usersPerCall));
      if (isStopped) return work.result;
    }
  return work.result;
}

class UserImport {
  readonly result = { imported: 0, skipped: 0, failed: 0, errors: [] as { localId: string; message: string }[] };
  readonly #accounts: AccountsClient;
  readonly #options: AuthImportOptions;
  /** Refused by the call under way. */
  #refused: string[] = [];
  /** The answer of this call was lost: existing accounts may have been written by it. */
  #isUnheard = false;
  #position = 0;

  constructor(accounts: AccountsClient, options: AuthImportOptions) {
    this.#accounts = accounts;
    this.#options = options;
  }

  /** Imports the next accounts, without those that an earlier run has settled. True when nothing more is asked for. */
  async take(asked: readonly AuthUser[]): Promise<boolean> {
    const { settledBefore, stop, onCall, onSettled } = this.#options;
    const { count, again, unheard } = settledBefore ?? { count: 0, again: new Set<string>() };
    const at = this.#position;
    const some = asked.filter(({ localId }, index) => at + index >= count || again.has(localId));
    this.#position += asked.length;
    if (some.length === 0) return false;
    if (stop?.aborted) return true;
    this.#refused = [];
    this.#isUnheard = unheard?.at === at;
    const { imported } = this.result;
    await onCall?.({ at, accounts: some.length });
    try {
      await this.#importAll(some);
    } catch (error) {
      if (isRefusal(error)) await onCall?.({ at, accounts: this.result.imported - imported });
      throw error;
    }
    await onSettled?.({
      settled: Math.max(this.#position, count),
      imported: this.result.imported,
      tried: some.map(({ localId }) => localId),
      refused: this.#refused,
    });
    return false;
  }

  async #importAll(users: readonly AuthUser[]): Promise<void> {
    const { lost = [], whole = [] } = Object.groupBy(users, (user) => (this.#isLost(user) ? 'lost' : 'whole'));
    if (whole.length > 0) await this.#importSome(whole, this.#options.mode);
    if (lost.length > 0) await this.#importWithoutPassword(lost);
  }

  /**
   * Overwriting an existing account without a hash would remove its password, so existing accounts are looked up first.
   */
  async #importWithoutPassword(users: readonly AuthUser[]): Promise<void> {
    if (this.#options.mode !== 'overwrite') return await this.#importSome(users, this.#options.mode);
    const existing: AuthUser[] = [];
    await this.#importSome(users, 'skip_existing', (user) => existing.push(user));
    const living = await this.#withPassword(existing.map(({ localId }) => localId));
    for (const { localId } of existing.filter((user) => living.has(user.localId))) this.#fail(localId, keptPassword);
    const free = existing.filter((user) => !living.has(user.localId));
    if (free.length > 0) await this.#importSome(free, 'overwrite');
  }

  async #withPassword(localIds: readonly string[]): Promise<ReadonlySet<string>> {
    const living = await lookUp(this.#accounts, localIds, this.#options.signal);
    return new Set(living.filter(hasPasswordSignIn).map(({ localId }) => localId));
  }

  async #importSome(
    users: readonly AuthUser[],
    mode: AuthImportOptions['mode'],
    onExisting: (user: AuthUser) => unknown = () => this.#countExisting(),
  ): Promise<void> {
    const { signal } = this.#options;
    if (signal?.aborted) throw new EngineError('CANCELLED', 'The work was cancelled.');
    let answer: JsonObject;
    try {
      const onSilence = () => {
        this.#isUnheard = true;
      };
      const body = request(users, { ...this.#options, mode });
      answer = await this.#accounts.post('accounts:batchCreate', body, signal, onSilence);
    } catch (error) {
      if (!isEngineError(error, 'VALIDATION_ERROR')) throw asRestoreFailure(error);
      await this.#importApart(users, mode, onExisting, error.message);
      return;
    }
    const errors = (answer.error as { index: number; message: string }[] | undefined) ?? [];
    const failed = new Map(errors.map((entry) => [entry.index ?? 0, entry.message]));
    users.forEach((user, index) => {
      const message = failed.get(index);
      if (message !== undefined && mode === 'skip_existing' && exists.test(message)) onExisting(user);
      else if (message !== undefined) this.#fail(user.localId, message);
      else {
        this.result.imported += 1;
        if (this.#isLost(user)) this.#reportLostPassword(user);
      }
    });
  }

  /** The API refuses a whole request for some errors of one user; halving finds that user. */
  async #importApart(
    users: readonly AuthUser[],
    mode: AuthImportOptions['mode'],
    onExisting: (user: AuthUser) => unknown,
    message: string,
  ): Promise<void> {
    if (users.length === 1) return this.#fail(users[0]!.localId, message);
    const middle = users.length >> 1;
    await this.#importSome(users.slice(0, middle), mode, onExisting);
    await this.#importSome(users.slice(middle), mode, onExisting);
  }

  #isLost(user: AuthUser): boolean {
    return isPasswordLost(user, this.#options.hashConfiguration);
  }

  #countExisting(): void {
    this.result[this.#isUnheard ? 'imported' : 'skipped'] += 1;
  }

  #fail(localId: string, message: string): void {
    this.result.failed += 1;
    this.#refused.push(localId);
    if (this.result.errors.length < errorsMax) this.result.errors.push({ localId, message });
  }

  /** The account exists but its password is lost, which must not look like a success. */
  #reportLostPassword(user: AuthUser): void {
    if (this.result.errors.length >= errorsMax) return;
    const message =
      'Imported without a password: the backup was made without the right to read hashes and how they are made.';
    this.result.errors.push({ localId: user.localId, message });
  }
}

/** Existing accounts are looked up only if that decides whether an account is written. */
export async function countImportable(
  accounts: AccountsClient,
  batches: AsyncIterable<AuthUserBatch>,
  { hashConfiguration, mode, signal }: AuthImportRules,
): Promise<number> {
  const skips = mode === 'skip_existing';
  let count = 0;
  for await (const { users } of batches) {
    const asked = users.filter((user) => skips || isPasswordLost(user, hashConfiguration));
    const localIds = asked.map(({ localId }) => localId);
    const living = await lookUp(accounts, localIds, signal);
    count += users.length - living.filter((user) => skips || hasPasswordSignIn(user)).length;
  }
  return count;
}

/** Which of these accounts exist. */
async function lookUp(
  accounts: AccountsClient,
  localIds: readonly string[],
  signal: AbortSignal | undefined,
): Promise<AuthUser[]> {
  const found: AuthUser[] = [];
  for (let offset = 0; offset < localIds.length; offset += lookupMax) {
    const localId = localIds.slice(offset, offset + lookupMax);
    const answer = await accounts.post('accounts:lookup', { localId }, signal).catch((error: unknown) => {
      throw asRestoreFailure(error);
    });
    found.push(...((answer.users as AuthUser[] | undefined) ?? []));
  }
  return found;
}

function request(users: readonly AuthUser[], options: AuthImportOptions): JsonObject {
  const isLost = (user: AuthUser) => isPasswordLost(user, options.hashConfiguration);
  const withHashes = users.some((user) => typeof user.passwordHash === 'string' && !isLost(user));
  return {
    users: users.map((user) => importable(user, isLost(user))),
    allowOverwrite: options.mode === 'overwrite',
    sanityCheck: true,
    ...(withHashes ? hashParameters(options.hashConfiguration) : {}),
  };
}

function importable(user: AuthUser, isWithoutPassword: boolean): JsonObject {
  const copy: Record<string, unknown> = { ...user };
  for (const field of readOnlyFields) delete copy[field];
  if (isWithoutPassword) {
    delete copy.passwordHash;
    delete copy.salt;
  }
  // The password and phone providers follow from hash and number; the import takes only federated ones.
  const providers = Array.isArray(user.providerUserInfo) ? (user.providerUserInfo as { providerId?: string }[]) : [];
  const federated = providers.filter(({ providerId }) => providerId !== 'password' && providerId !== 'phone');
  if (federated.length > 0) copy.providerUserInfo = federated;
  else delete copy.providerUserInfo;
  return copy;
}

function hashParameters(configuration: AuthHashConfiguration): JsonObject {
  const { algorithm, signerKey, saltSeparator, rounds, memoryCost } = configuration;
  return {
    hashAlgorithm: algorithm,
    ...(signerKey === undefined ? {} : { signerKey }),
    ...(saltSeparator === undefined ? {} : { saltSeparator }),
    ...(rounds === undefined ? {} : { rounds }),
    ...(memoryCost === undefined ? {} : { memoryCost }),
  };
}

/** The answer says that nothing was written. */
function isRefusal(error: unknown): boolean {
  return isEngineError(error, 'RESTORE_PERMISSION_DENIED') || isEngineError(error, 'RESTORE_QUOTA_EXCEEDED');
}

function asRestoreFailure(error: unknown): unknown {
  if (!isEngineError(error)) return error;
  const options = { details: { ...error.details }, cause: error };
  if (error.code === 'SOURCE_AUTH_ERROR') return new EngineError('RESTORE_PERMISSION_DENIED', error.message, options);
  if (error.code === 'SOURCE_QUOTA_EXCEEDED') return new EngineError('RESTORE_QUOTA_EXCEEDED', error.message, options);
  return error;
}
