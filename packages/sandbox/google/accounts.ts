/** Identity Toolkit's account calls on one project: list, look up, query, create, update, import, delete. */

import { randomBytes } from 'node:crypto';
import type { AccountCall } from './account-call.ts';
import { importAccounts } from './import-accounts.ts';
import { GoogleError, invalidArgument, page, permissionDenied } from './respond.ts';
import { type AuthUser, type Role, userKey } from './state.ts';

const batchGetMax = 1000;
const queryMax = 500;
const deleteMax = 1000;
/** What production sends instead of a hash to callers without `firebaseauth.configs.getHashConfig`. */
export const redactedHash = Buffer.from('REDACTED').toString('base64');

type Handler = (call: AccountCall) => unknown;

const reads: Record<string, Handler> = { batchGet, query: queryAccounts, lookup };
const writes: Record<string, Handler> = {
  batchCreate: importAccounts,
  batchDelete,
  delete: deleteAccount,
  update: updateAccount,
  '': createAccount,
};

/** `verb` is what follows `accounts:`; empty for a plain create. */
export function handleAccounts(verb: string, method: string, call: AccountCall): unknown {
  const wantedMethod = verb === 'batchGet' ? 'GET' : 'POST';
  const handler = reads[verb] ?? writes[verb];
  if (handler === undefined || method !== wantedMethod) throw new GoogleError(404, 'NOT_FOUND', 'Not Found');
  if (call.role !== 'owner' && reads[verb] === undefined) throw permissionDenied();
  return handler(call);
}

function batchGet(call: AccountCall): unknown {
  const users = tenantUsers(call).sort((a, b) => (a.localId < b.localId ? -1 : 1));
  const token = call.query.get('nextPageToken') ?? call.query.get('pageToken');
  const { items, nextPageToken } = page(users, call.query.get('maxResults') ?? '20', token, batchGetMax);
  const shown = items.map((user) => present(user, call.role));
  // Like production: without users there is no `users` key.
  return {
    kind: 'identitytoolkit#DownloadAccountResponse',
    ...(shown.length === 0 ? {} : { users: shown }),
    ...(nextPageToken === undefined ? {} : { nextPageToken }),
  };
}

function lookup(call: AccountCall): unknown {
  const wanted = (key: string) => new Set(Array.isArray(call.body[key]) ? (call.body[key] as unknown[]) : []);
  const [ids, emails, phones] = [wanted('localId'), wanted('email'), wanted('phoneNumber')];
  const users = tenantUsers(call).filter(
    (user) => ids.has(user.localId) || emails.has(user.email) || phones.has(user.phoneNumber),
  );
  const shown = users.map((user) => present(user, call.role));
  return { kind: 'identitytoolkit#GetAccountInfoResponse', ...(shown.length === 0 ? {} : { users: shown }) };
}

function queryAccounts(call: AccountCall): unknown {
  const expressions = Array.isArray(call.body.expression) ? (call.body.expression as Record<string, unknown>[]) : [];
  const matching = tenantUsers(call).filter(
    (user) =>
      expressions.length === 0 ||
      expressions.some(
        ({ email, userId, phoneNumber }) =>
          (email !== undefined && user.email === String(email).toLowerCase()) ||
          (userId !== undefined && user.localId === userId) ||
          (phoneNumber !== undefined && user.phoneNumber === phoneNumber),
      ),
  );
  if (call.body.returnUserInfo === false) return { recordsCount: String(matching.length) };
  const limit = Number(call.body.limit ?? queryMax);
  if (!(limit >= 1 && limit <= queryMax)) throw invalidArgument('INVALID_LIMIT');
  const key = call.body.sortBy === 'USER_EMAIL' ? 'email' : 'localId';
  matching.sort((a, b) => (String(a[key] ?? '') < String(b[key] ?? '') ? -1 : 1));
  if (call.body.order === 'DESC') matching.reverse();
  const offset = Number(call.body.offset ?? 0);
  const shown = matching.slice(offset, offset + limit).map((user) => present(user, call.role));
  return { recordsCount: String(shown.length), userInfo: shown };
}

function createAccount(call: AccountCall): unknown {
  const { localId, password, ...rest } = call.body;
  const id = typeof localId === 'string' ? localId : randomBytes(21).toString('base64url');
  if (call.project.users.has(userKey(call.tenantId, id))) throw invalidArgument('DUPLICATE_LOCAL_ID');
  refuseTakenEmail(call, rest.email, id);
  const user: AuthUser = { ...rest, localId: id, createdAt: String(call.state.now()), lastRefreshAt: undefined };
  if (typeof password === 'string') setPassword(user, password);
  store(call, user);
  return { kind: 'identitytoolkit#SignupNewUserResponse', localId: id, ...(user.email ? { email: user.email } : {}) };
}

function updateAccount(call: AccountCall): unknown {
  const { localId, password, deleteAttribute, deleteProvider, disableUser, ...rest } = call.body;
  const user = call.project.users.get(userKey(call.tenantId, String(localId)));
  if (user === undefined) throw invalidArgument('USER_NOT_FOUND');
  refuseTakenEmail(call, rest.email, user.localId);
  const next: AuthUser = { ...user, ...rest };
  if (typeof password === 'string') setPassword(next, password);
  if (typeof disableUser === 'boolean') next.disabled = disableUser;
  const attributes: Record<string, string> = { DISPLAY_NAME: 'displayName', PHOTO_URL: 'photoUrl', EMAIL: 'email' };
  for (const name of (deleteAttribute as string[] | undefined) ?? []) delete next[attributes[name] ?? name];
  for (const name of (deleteProvider as string[] | undefined) ?? []) {
    if (name === 'phone') delete next.phoneNumber;
    if (next.providerUserInfo) next.providerUserInfo = next.providerUserInfo.filter((info) => info.providerId !== name);
  }
  store(call, next);
  return { kind: 'identitytoolkit#SetAccountInfoResponse', localId: user.localId };
}

function deleteAccount(call: AccountCall): unknown {
  if (!call.project.users.delete(userKey(call.tenantId, String(call.body.localId)))) {
    throw invalidArgument('USER_NOT_FOUND');
  }
  return { kind: 'identitytoolkit#DeleteAccountResponse' };
}

function batchDelete(call: AccountCall): unknown {
  const ids = Array.isArray(call.body.localIds) ? (call.body.localIds as string[]) : [];
  if (ids.length === 0 || ids.length > deleteMax) throw invalidArgument('LOCAL_ID_LIST_EXCEEDS_LIMIT');
  const errors: unknown[] = [];
  ids.forEach((localId, index) => {
    const key = userKey(call.tenantId, localId);
    // Without `force` only disabled accounts are deleted; unknown ids are skipped silently.
    const user = call.project.users.get(key);
    if (user === undefined) return;
    if (call.body.force === true || user.disabled === true) call.project.users.delete(key);
    else errors.push({ index, localId, message: 'NOT_DISABLED : Disable the account before batch deletion.' });
  });
  return errors.length === 0 ? {} : { errors };
}

function refuseTakenEmail(call: AccountCall, email: unknown, localId: string): void {
  if (typeof email !== 'string') return;
  const taken = tenantUsers(call).some((user) => user.email === email.toLowerCase() && user.localId !== localId);
  if (taken) throw invalidArgument('EMAIL_EXISTS');
}

/** Not a real hash: nobody signs in with a password here. It only has to be stored and returned. */
function setPassword(user: AuthUser, password: string): void {
  if (password.length < 6) throw invalidArgument('WEAK_PASSWORD : Password should be at least 6 characters');
  user.salt = randomBytes(12).toString('base64url');
  user.passwordHash = Buffer.from(`sandbox:${password}`).toString('base64');
}

function store(call: AccountCall, user: AuthUser): void {
  const copy = { ...user, ...(call.tenantId === undefined ? {} : { tenantId: call.tenantId }) };
  if (typeof copy.email === 'string') copy.email = copy.email.toLowerCase();
  call.project.users.set(userKey(call.tenantId, user.localId), copy);
}

function tenantUsers(call: AccountCall): AuthUser[] {
  return [...call.project.users.values()].filter((user) => user.tenantId === call.tenantId);
}

/** The password and phone providers follow from the account itself. */
function present(user: AuthUser, role: Role): AuthUser {
  const shown: AuthUser = { ...user };
  const providers = (user.providerUserInfo ?? []).filter(
    (info) => info.providerId !== 'password' && info.providerId !== 'phone',
  );
  const identity = { rawId: user.email, federatedId: user.email, email: user.email };
  if (user.passwordHash && user.email) providers.push({ providerId: 'password', ...identity });
  if (user.phoneNumber) providers.push({ providerId: 'phone', rawId: user.phoneNumber, phoneNumber: user.phoneNumber });
  if (providers.length > 0) shown.providerUserInfo = providers;
  else delete shown.providerUserInfo;
  if (user.passwordHash && role !== 'owner') {
    shown.passwordHash = redactedHash;
    delete shown.salt;
  }
  return shown;
}
