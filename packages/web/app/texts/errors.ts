import type { ErrorCode, JobError } from '@holdfast/contract';
import { HoldfastError } from '@holdfast/contract/client';

interface Explanation {
  readonly title: string;
  readonly advice?: string;
}

/** Title and advice for each error code. For other codes the service's message is shown. */
const explanations: Partial<Record<ErrorCode | 'NETWORK_ERROR' | 'UNEXPECTED_ANSWER', Explanation>> = {
  NETWORK_ERROR: {
    title: 'Holdfast does not answer',
    advice: 'Running work continues without this page. Check your connection, then try again.',
  },
  UNEXPECTED_ANSWER: {
    title: 'The answer could not be read',
    advice: 'Something between here and Holdfast answered instead. Try again.',
  },
  SERVICE_UNAVAILABLE: { title: 'Holdfast is starting or stopping', advice: 'Try again in a moment.' },
  RATE_LIMITED: { title: 'Too many calls at once', advice: 'Wait a minute, then try again.' },
  INTERNAL_ERROR: {
    title: 'Something failed that should not',
    advice: 'Try again. If it stays, give the request id to whoever runs Holdfast.',
  },
  UNAUTHORIZED: { title: 'You are not signed in', advice: 'Sign in again; nothing you had is lost.' },
  FORBIDDEN: { title: 'This is not open to you' },
  PERMISSION_DENIED: {
    title: 'Your role does not allow this',
    advice: 'An admin or the owner can do it, or give you the role.',
  },
  ORGANIZATION_NOT_FOUND: {
    title: 'This organization does not exist',
    advice: 'It may have been deleted, or the address is wrong.',
  },
  PROJECT_NOT_FOUND: { title: 'This project is not connected here' },
  BACKUP_NOT_FOUND: { title: 'This backup does not exist', advice: 'Its retention may have ended.' },
  RESTORE_NOT_FOUND: { title: 'This restore does not exist' },
  DOCUMENT_NOT_FOUND: { title: 'The document is not in here', advice: 'Look in an older or newer backup.' },
  SOURCE_AUTH_ERROR: {
    title: 'Google no longer accepts the connection',
    advice: 'Your backups are not affected. Reconnect the project, then start again.',
  },
  SOURCE_UNAVAILABLE: {
    title: 'The database could not be reached',
    advice: 'Try again; if it stays, look at the status of Firestore.',
  },
  SOURCE_QUOTA_EXCEEDED: {
    title: "The database's quota is used up",
    advice: 'Wait until it resets, or set a lower read rate in the project.',
  },
  STORAGE_UNAVAILABLE: {
    title: 'The storage could not be reached',
    advice: 'Your backups are not affected. Try again; if it stays, test the destination.',
  },
  STORAGE_PERMISSION_DENIED: {
    title: 'The storage refused our credentials',
    advice: 'They need to read, write, list and delete. Give new ones, then test the destination.',
  },
  STORAGE_UPLOAD_ERROR: {
    title: 'Writing to the storage failed',
    advice: 'Test the destination, fix the step that fails, then start again.',
  },
  BACKUP_TIMEOUT: {
    title: 'The backup took too long',
    advice: "Raise the time limit in the project's settings, or back up fewer collections.",
  },
  READ_BUDGET_EXCEEDED: {
    title: 'The backup would read more than the budget allows',
    advice: "Raise the budget in the project's settings.",
  },
  RESTORE_PERMISSION_DENIED: {
    title: 'The target refused our writes',
    advice: 'Give the connection the right to write, then resume.',
  },
  RESTORE_QUOTA_EXCEEDED: {
    title: "The target's write quota is used up",
    advice: 'Wait until it resets, then resume: it continues where it stopped.',
  },
  INTEGRITY_ERROR: {
    title: 'Stored data is not what was written',
    advice: 'Use another copy or another backup, and look who changed the bucket.',
  },
  DECRYPTION_ERROR: {
    title: 'The key to this backup is missing',
    advice: 'Give the key it was made with in Settings, Encryption key.',
  },
  POINT_IN_TIME_UNAVAILABLE: { title: 'This moment cannot be reached', advice: 'Choose one of the nearest moments.' },
  CANCELLED: { title: 'Stopped by hand', advice: 'Start it again when it is wanted.' },
  PRECONDITION_FAILED: { title: 'Somebody else has changed this', advice: 'Look at it again, then decide.' },
  INVITATION_EXPIRED: { title: 'This invitation is over', advice: 'Ask for a new one.' },
  INVITATION_NOT_FOUND: {
    title: 'This invitation is not open any more',
    advice: 'It was accepted, cancelled, or replaced by a newer one.',
  },
  INVITATION_EXISTS: { title: 'This person is invited already', advice: 'Send the invitation again from the list.' },
  ALREADY_MEMBER: { title: 'This person is a member already' },
  SLUG_TAKEN: { title: 'Another organization has this address' },
  CANNOT_REMOVE_OWNER: { title: 'The owner cannot leave', advice: 'Make another member owner first.' },
  VALIDATION_ERROR: { title: 'Something in the form is not right' },
  NOT_FOUND: { title: 'There is nothing here' },
};

/** Codes whose own message is more exact than any general sentence. */
const saysItself = new Set([
  'VALIDATION_ERROR',
  'INVALID_STATE',
  'RESOURCE_IN_USE',
  'CONFLICT',
  'FORBIDDEN',
  'LIMIT_REACHED',
]);

const passing = new Set([
  'NETWORK_ERROR',
  'UNEXPECTED_ANSWER',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'STORAGE_UNAVAILABLE',
  'SOURCE_UNAVAILABLE',
  'CONFLICT',
]);

/** The answer began and broke off. */
const isBrokenOff = (error: object) =>
  error instanceof HoldfastError && error.code === 'NETWORK_ERROR' && error.status === 200;

const brokenOff: Explanation = {
  title: 'It broke off before its end',
  advice: 'Nothing was saved: a part is not the whole. Try again; where it breaks off each time, verify the backup.',
};

export function explainError(error: HoldfastError | JobError | Error): { title: string; advice?: string } {
  const code = 'code' in error ? String(error.code) : '';
  const known = isBrokenOff(error) ? brokenOff : explanations[code as ErrorCode];
  if (saysItself.has(code))
    return { title: known?.title ?? error.message, ...(known ? { advice: error.message } : {}) };
  if (known) return known;
  return { title: error.message, ...('advice' in error ? { advice: error.advice } : {}) };
}

export function isRetryable(error: HoldfastError | JobError | Error): boolean {
  if ('retryable' in error) return error.retryable;
  return error instanceof HoldfastError ? passing.has(error.code) : true;
}

/** Validation errors by field name. */
export function faultsOf(error: HoldfastError | null | undefined): Record<string, string> {
  if (error?.code !== 'VALIDATION_ERROR') return {};
  const details = error.details as
    | { field?: string; reason?: string; errors?: { field: string; reason: string }[] }
    | undefined;
  const faults =
    details?.errors ?? (details?.field ? [{ field: details.field, reason: details.reason ?? error.message }] : []);
  return Object.fromEntries(faults.map(({ field, reason }) => [field, capital(reason)]));
}

/**
 * The errors that a form can show at its fields. One in a part of a field (a line of a list, a part of a key) is shown at the
 * field; if none can be placed, the form shows the whole error below.
 */
export function fieldErrors(
  error: HoldfastError | null | undefined,
  fields: readonly string[],
): Record<string, string> {
  const placed: Record<string, string> = {};
  for (const [fault, reason] of Object.entries(faultsOf(error))) {
    const place = fields.find((field) => field === fault) ?? fields.find((field) => fault.startsWith(`${field}.`));
    if (place !== undefined) placed[place] ??= reason;
  }
  return placed;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`.replace(/\.\.$/, '.');
}
