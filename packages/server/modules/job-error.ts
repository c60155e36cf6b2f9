import {
  type ErrorCode,
  errorDefinition,
  type JobErrorCode,
  type JobErrorDetails,
  jobErrorCodes,
  jobErrorDetails,
} from '@holdfast/contract';
import { EngineError } from '@holdfast/engine';
import { oneLine } from '../platform/one-line.ts';
import { Problem } from '../platform/problem.ts';
import { MissingMasterKey } from '../platform/secrets/master-keyring.ts';

/** Why a job failed, as it is stored and shown. */
export interface StoredError {
  code: string;
  message: string;
  details?: JobErrorDetails;
  retryable: boolean;
  advice: string;
}

/** Codes of the engine that the catalogue does not have. */
const nearest: Partial<Record<string, JobErrorCode>> = {
  SOURCE_NOT_FOUND: 'SOURCE_UNAVAILABLE',
  SNAPSHOT_TOO_OLD: 'SOURCE_UNAVAILABLE',
  STORAGE_NOT_FOUND: 'STORAGE_UNAVAILABLE',
  STORAGE_CONFLICT: 'STORAGE_UPLOAD_ERROR',
  VALIDATION_ERROR: 'INTERNAL_ERROR',
};

const chooseRegion = 'Set the region that the bucket lies in (holdfast storage update, or its page in the dashboard).';
const renewKey = 'Give the destination a key that works (holdfast storage update, or its page in the dashboard).';
const makeRoom =
  'Make room where the folder lies, delete backups that nobody needs, or keep them elsewhere; then start again.';
const grantStorage =
  'Grant the account of the key the role Storage Object Admin (roles/storage.objectAdmin) on the bucket, then test the destination.';
const letWrite =
  'Let the user that runs this service read and write in the folder (its owner and its mode), or choose another path.';
const choosePath = 'Choose another path, or remove the file that lies in its way.';
const allowLocks =
  'Enable object lock on the bucket, choose one that has it, or take the lock from the destination (holdfast storage update --no-object-lock), then test it.';
const makeRoomInBucket =
  'Raise the quota of the bucket or of its account, delete backups that nobody needs, or keep them elsewhere; then start again.';
const bringBack =
  'Bring the objects of the backup back from the archive class with the tools of your provider, wait until they can be read, then try again. Take the destination out of the rule that moves objects to an archive class.';
const setClock = 'Set the clock of the machine that runs this service, and keep it set (NTP).';
const checkName =
  'Check the endpoint of the destination. Where the bucket stands in the path and not in the name, ask for that (forcePathStyle, holdfast storage update --force-path-style).';
const checkDatabase =
  'Check the id of the Google project and of the database: it has to exist, in native mode, with the Cloud Firestore API enabled.';

/** Precise advice for precise errors of the other side. */
const adviceByCause: Readonly<Record<string, string>> = {
  NoSuchBucket: 'Check the name of the bucket and its endpoint, or create the bucket: Holdfast creates none.',
  AuthorizationHeaderMalformed: chooseRegion,
  PermanentRedirect: chooseRegion,
  IllegalLocationConstraintException: chooseRegion,
  InvalidAccessKeyId: renewKey,
  SignatureDoesNotMatch: renewKey,
  InvalidObjectState: bringBack,
  QuotaExceeded: makeRoomInBucket,
  XMinioStorageFull: makeRoomInBucket,
  XMinioAdminBucketQuotaExceeded: makeRoomInBucket,
  RequestTimeTooSkewed: setClock,
  notFound: 'Check the name of the bucket, or create it: Holdfast creates none.',
  forbidden: grantStorage,
  invalid_grant: renewKey,
  ENOSPC: makeRoom,
  EDQUOT: makeRoom,
  EACCES: letWrite,
  EPERM: letWrite,
  EROFS: letWrite,
  ENOTDIR: choosePath,
  EEXIST: choosePath,
  OBJECT_LOCK_UNAVAILABLE: allowLocks,
  ENOTFOUND: checkName,
  ENODATA: checkName,
  EPROTO: 'Check the endpoint of the destination: http:// or https://, and its port.',
  ADDRESS_REFUSED: 'Use a public address, or ask the operator of this service to open the subnet.',
};

/**
 * Converts whatever ended a job for its record: a code of the catalogue, whether a retry can help, and how to fix the
 * cause.
 */
export function toJobError(thrown: unknown, details: Record<string, unknown> = {}): StoredError {
  const error =
    thrown instanceof MissingMasterKey ? new Problem('DECRYPTION_ERROR', thrown.message, { cause: thrown }) : thrown;
  const code = jobErrorCode(error);
  const { job } = errorDefinition(code);
  const isKnown = error instanceof EngineError || error instanceof Problem;
  return {
    code,
    message: oneLine(isKnown ? error.message : 'Something failed that should not.', 2000),
    details: namedDetails({ ...(isKnown ? error.details : {}), ...details }),
    retryable: error instanceof EngineError && code !== 'INTERNAL_ERROR' ? error.retryable : (job?.retryable ?? false),
    advice: (adviceOf(error) ?? job?.advice ?? 'Try again.').slice(0, 1000),
  };
}

/** A record contains only the details that the contract names; the log has the rest. */
function namedDetails(known: Record<string, unknown>): JobErrorDetails {
  const kept: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(jobErrorDetails.shape))
    if (known[name] !== undefined && field.safeParse(known[name]).success) kept[name] = known[name];
  return kept as JobErrorDetails;
}

function adviceOf(error: unknown): string | undefined {
  // A stored failure is converted back into a problem with the same details.
  if (!(error instanceof EngineError || error instanceof Problem)) return undefined;
  const { missing, permission, code, host, region } = error.details ?? {};
  const next = error.code === 'RESTORE_PERMISSION_DENIED' ? 'resume the restore' : 'start again';
  if (typeof missing === 'string')
    return `Grant the role ${missing} to the account that the project is connected with, then ${next}.`;
  if (typeof permission === 'string')
    return `Grant ${permission} on the bucket to the account of the key, then test the destination.`;
  if (typeof host === 'string')
    return `Let this service reach ${host}: check its name servers, its proxy and its firewall, and the status of Google Cloud.`;
  if (typeof region === 'string')
    return `Check the spelling of the region, or give the endpoint of the storage; if ${region} is right, check the name servers of this service.`;
  if (error instanceof EngineError && isAboutDatabase(error)) return checkDatabase;
  return adviceByCause[String(code)];
}

/** The database answered but cannot be read: it is of another kind, has no interface, or does not exist. */
function isAboutDatabase(error: EngineError): boolean {
  const isRefused = error.code === 'VALIDATION_ERROR' && error.details.grpcCode !== undefined;
  return isRefused || error.code === 'SOURCE_NOT_FOUND';
}

function jobErrorCode(error: unknown): JobErrorCode {
  const code = error instanceof EngineError || error instanceof Problem ? (error.code as string) : 'INTERNAL_ERROR';
  if ((jobErrorCodes as readonly string[]).includes(code)) return code as JobErrorCode;
  if (error instanceof EngineError && isAboutDatabase(error)) return 'SOURCE_UNAVAILABLE';
  // A refusal by the other side, with its own status or code, is not our fault.
  const { status, code: cause } = error instanceof EngineError ? error.details : {};
  if (code === 'VALIDATION_ERROR' && (status !== undefined || cause !== undefined)) return 'STORAGE_UNAVAILABLE';
  // An object that is larger than any of ours was not written by us.
  if (error instanceof EngineError && code === 'VALIDATION_ERROR' && error.details.bytesMax !== undefined)
    return 'INTEGRITY_ERROR';
  return nearest[code] ?? 'INTERNAL_ERROR';
}

/** The same conversion for the answer to a call that contacts the other side directly. */
export function toProblem(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  const stored = toJobError(error);
  const { before, after, missing, code } = error.details;
  if (stored.code === 'POINT_IN_TIME_UNAVAILABLE')
    return new Problem(stored.code, stored.message, { details: { before: instant(before), after: instant(after) } });
  const takesDetails = errorDefinition(stored.code as ErrorCode).details !== undefined;
  // A project that is just being connected cannot be reconnected yet.
  const isKnown = adviceOf(error) !== undefined || stored.code !== 'SOURCE_AUTH_ERROR';
  const advised = takesDetails && isKnown ? { advice: stored.advice } : {};
  const cause = takesDetails && typeof code === 'string' ? { cause: code.slice(0, 200) } : {};
  const lacking = typeof missing === 'string' ? { missing } : {};
  const details = { reason: error.message.slice(0, 2000), ...cause, ...lacking, ...advised };
  return new Problem(stored.code as ErrorCode, stored.message, {
    ...(takesDetails ? { details } : {}),
    cause: error,
  });
}

const instant = (value: unknown) => (typeof value === 'string' ? value : null);
