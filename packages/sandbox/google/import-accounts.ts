/** `accounts:batchCreate`: a fault of the request fails all of it, a fault of a user fails that user. */

import type { AccountCall } from './account-call.ts';
import { invalidArgument } from './respond.ts';
import { type AuthUser, userKey } from './state.ts';

const usersMax = 1000;
const localIdLengthMax = 128;
const claimsLengthMax = 1000;
const reservedClaims = [
  'acr',
  'amr',
  'at_hash',
  'aud',
  'auth_time',
  'azp',
  'cnf',
  'c_hash',
  'exp',
  'iat',
  'iss',
  'jti',
  'nbf',
  'nonce',
  'sub',
  'firebase',
  'user_id',
];
const hashAlgorithms: Record<string, readonly string[]> = {
  SCRYPT: ['signerKey', 'rounds', 'memoryCost'],
  STANDARD_SCRYPT: ['cpuMemCost', 'parallelization', 'blockSize', 'dkLen'],
  HMAC_SHA512: ['signerKey'],
  HMAC_SHA256: ['signerKey'],
  HMAC_SHA1: ['signerKey'],
  HMAC_MD5: ['signerKey'],
  MD5: ['rounds'],
  SHA1: ['rounds'],
  SHA256: ['rounds'],
  SHA512: ['rounds'],
  PBKDF_SHA1: ['rounds'],
  PBKDF2_SHA256: ['rounds'],
  BCRYPT: [],
};

export function importAccounts(call: AccountCall): unknown {
  const { body } = call;
  const users = Array.isArray(body.users) ? (body.users as AuthUser[]) : [];
  if (users.length === 0) throw invalidArgument('MISSING_USER_ACCOUNT');
  if (users.length > usersMax)
    throw invalidArgument(
      'MAXIMUM_USER_COUNT_EXCEEDED : The maximum allowed number of users to import has been exceeded.',
    );
  if (users.some((user) => user.passwordHash)) checkHashParameters(body);
  if (body.sanityCheck === true || body.allowOverwrite !== true) refuseDuplicates(users);
  const error: { index: number; message: string }[] = [];
  users.forEach((user, index) => {
    const message = whatIsWrong(call, user);
    if (message !== undefined) error.push({ index, message });
    else store(call, user);
  });
  return { kind: 'identitytoolkit#UploadAccountResponse', ...(error.length === 0 ? {} : { error }) };
}

function checkHashParameters(body: Record<string, unknown>): void {
  if (body.hashAlgorithm === undefined) throw invalidArgument('MISSING_HASH_ALGORITHM');
  const needed = hashAlgorithms[String(body.hashAlgorithm)];
  if (needed === undefined) throw invalidArgument('INVALID_HASH_ALGORITHM');
  for (const name of needed) {
    if (body[name] === undefined) throw invalidArgument(`INVALID_HASH_PARAMETER : ${name} is missing`);
  }
}

function refuseDuplicates(users: readonly AuthUser[]): void {
  const ids = new Set<string>();
  const emails = new Set<string>();
  for (const { localId, email } of users) {
    if (localId !== undefined && ids.has(localId)) throw invalidArgument(`DUPLICATE_LOCAL_ID : ${localId}`);
    if (email !== undefined && emails.has(email)) throw invalidArgument(`DUPLICATE_EMAIL : ${email}`);
    if (localId !== undefined) ids.add(localId);
    if (email !== undefined) emails.add(email);
  }
}

function whatIsWrong(call: AccountCall, user: AuthUser): string | undefined {
  if (!user.localId) return 'localId is missing';
  if (user.localId.length > localIdLengthMax) return 'localId is too long';
  if (user.email !== undefined && !/^[^@\s]+@[^@\s]+$/.test(user.email)) return 'email is invalid';
  if (user.phoneNumber !== undefined && !/^\+\d{4,15}$/.test(user.phoneNumber)) return 'phone number format is invalid';
  if (user.tenantId !== undefined && user.tenantId !== call.tenantId)
    return 'Tenant id in userInfo does not match the tenant id in request.';
  const taken = call.project.users.get(userKey(call.tenantId, user.localId));
  if (taken !== undefined && call.body.allowOverwrite !== true) {
    return 'localId belongs to an existing account - can not overwrite.';
  }
  if (call.body.sanityCheck === true && isEmailTaken(call, user)) return 'email exists in other account in database';
  return whatIsWrongWithClaims(user.customAttributes);
}

function isEmailTaken(call: AccountCall, { email, localId }: AuthUser): boolean {
  if (email === undefined) return false;
  const wanted = email.toLowerCase();
  return [...call.project.users.values()].some(
    (other) => other.email === wanted && other.localId !== localId && other.tenantId === call.tenantId,
  );
}

function whatIsWrongWithClaims(customAttributes: string | undefined): string | undefined {
  if (customAttributes === undefined || customAttributes === '') return undefined;
  if (customAttributes.length > claimsLengthMax) return 'Custom claims provided are too large.';
  try {
    const claims: unknown = JSON.parse(customAttributes);
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims))
      return 'Invalid custom claims provided.';
    if (reservedClaims.some((name) => Object.hasOwn(claims, name)))
      return 'Custom claims provided include a reserved claim.';
    return undefined;
  } catch {
    return 'Invalid custom claims provided.';
  }
}

/** 64-bit numbers are returned as strings and bytes as standard base64, however they were sent. */
function store(call: AccountCall, user: AuthUser): void {
  const stored: AuthUser = { ...user };
  if (stored.email !== undefined) stored.email = stored.email.toLowerCase();
  if (call.tenantId !== undefined) stored.tenantId = call.tenantId;
  stored.createdAt = String(user.createdAt ?? call.state.now());
  for (const name of ['lastLoginAt', 'validSince']) if (user[name] !== undefined) stored[name] = String(user[name]);
  for (const name of ['passwordHash', 'salt']) if (user[name]) stored[name] = toStandardBase64(String(user[name]));
  const key = userKey(call.tenantId, user.localId);
  call.project.users.set(key, stored);
  if (!user.passwordHash) call.project.hashes.delete(key);
  else call.project.hashes.set(key, hashParameters(call.body));
}

function hashParameters(body: Record<string, unknown>): Record<string, unknown> {
  const names = [
    'hashAlgorithm',
    'signerKey',
    'saltSeparator',
    'rounds',
    'memoryCost',
    'cpuMemCost',
    'parallelization',
    'blockSize',
    'dkLen',
    'passwordHashOrder',
  ];
  return Object.fromEntries(names.filter((name) => body[name] !== undefined).map((name) => [name, body[name]]));
}

function toStandardBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('base64');
}
