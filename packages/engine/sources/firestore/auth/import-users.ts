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
  const result = { imported: 0, skipped: 0, failed: 0, errors: [] as { localId: string; message: string }[] };
  const isLost = (user: AuthUser) => isPasswordLost(user, options.hashConfiguration);
  let refused: string[] = [];
  const fail = (localId: string, message: string): void => {
    result.failed += 1;
    refused.push(localId);
    if (result.errors.length < errorsMax) result.errors.push({ localId, message });
  };
  const { count, again, unheard } = options.settledBefore ?? { count: 0, again: new Set<string>() };
  /** The answer of this call was lost: existing accounts may have been written by it. */
  let isUnheard = false;
  let position = 0;
  for await (const { users } of batches) {
    for (let offset = 0; offset < users.length; offset += usersPerCall) {
      const asked = users.slice(offset, offset + usersPerCall);
      const some = asked.filter(({ localId }, index) => position + index >= count || again.has(localId));
      const at = position;
      position += asked.length;
      if (some.length === 0) continue;
      if (options.stop?.aborted) return result;
      refused = [];
      isUnheard = unheard?.at === at;
      const { imported } = result;
      await options.onCall?.({ at, accounts: some.length });
      try {
        await importAll(some);
      } catch (error) {
        if (isRefusal(error)) await options.onCall?.({ at, accounts: result.imported - imported });
        throw error;
      }
      await options.onSettled?.({
        settled: Math.max(position, count),
        imported: result.imported,
        tried: some.map(({ localId }) => localId),
        refused,
      });
    }
  }
  return result;

  async function importAll(users: readonly AuthUser[]): Promise<void> {
    const { lost = [], whole = [] } = Object.groupBy(users, (user) => (isLost(user) ? 'lost' : 'whole'));
    if (whole.length > 0) await importSome(whole, options.mode);
    if (lost.length > 0) await importWithoutPassword(lost);
  }

  /**
   * Overwriting an existing account without a hash would remove its password, so existing accounts are looked up first.
   */
  async function importWithoutPassword(users: readonly AuthUser[]): Promise<void> {
    if (options.mode !== 'overwrite') return await importSome(users, options.mode);
    const existing: AuthUser[] = [];
    await importSome(users, 'skip_existing', (user) => existing.push(user));
    const living = await withPassword(existing.map(({ localId }) => localId));
    for (const { localId } of existing.filter((user) => living.has(user.localId))) fail(localId, keptPassword);
    const free = existing.filter((user) => !living.has(user.localId));
    if (free.length > 0) await importSome(free, 'overwrite');
  }

  async function withPassword(localIds: readonly string[]): Promise<ReadonlySet<string>> {
    const living = await lookUp(accounts, localIds, options.signal);
    return new Set(living.filter(hasPasswordSignIn).map(({ localId }) => localId));
  }

  async function importSome(
    users: readonly AuthUser[],
    mode: AuthImportOptions['mode'],
    onExisting = (_: AuthUser): unknown => {
      result[isUnheard ? 'imported' : 'skipped'] += 1;
      return undefined;
    },
  ): Promise<void> {
    if (options.signal?.aborted) throw new EngineError('CANCELLED', 'The work was cancelled.');
    let answer: JsonObject;
    try {
      const onSilence = () => {
        isUnheard = true;
      };
      const body = request(users, { ...options, mode });
      answer = await accounts.post('accounts:batchCreate', body, options.signal, onSilence);
    } catch (error) {
      if (!isEngineError(error, 'VALIDATION_ERROR')) throw asRestoreFailure(error);
      await importApart(users, mode, onExisting, error.message);
      return;
    }
    const errors = (answer.error as { index: number; message: string }[] | undefined) ?? [];
    const failed = new Map(errors.map((entry) => [entry.index ?? 0, entry.message]));
    users.forEach((user, index) => {
      const message = failed.get(index);
      if (message !== undefined && mode === 'skip_existing' && exists.test(message)) onExisting(user);
      else if (message !== undefined) fail(user.localId, message);
      else {
        result.imported += 1;
        if (isLost(user)) reportLostPassword(user);
      }
    });
  }

  /** The API refuses a whole request for some errors of one user; halving finds that user. */
  async function importApart(
    users: readonly AuthUser[],
    mode: AuthImportOptions['mode'],
    onExisting: (user: AuthUser) => unknown,
    message: string,
  ): Promise<void> {
    if (users.length === 1) {
      fail(users[0]!.localId, message);
      return;
    }
    const middle = users.length >> 1;
    await importSome(users.slice(0, middle), mode, onExisting);
    await importSome(users.slice(middle), mode, onExisting);
  }

  /** The account exists but its password is lost, which must not look like a success. */
  function reportLostPassword(user: AuthUser): void {
    if (result.errors.length >= errorsMax) return;
    const message =
      'Imported without a password: the backup was made without the right to read hashes and how they are made.';
    result.errors.push({ localId: user.localId, message });
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
