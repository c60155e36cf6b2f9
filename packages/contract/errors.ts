import type { z } from 'zod';
import {
  budgetDetails,
  decryptionDetails,
  forbiddenDetails,
  goneDetails,
  inUseDetails,
  limitDetails,
  permissionDetails,
  pointInTimeDetails,
  sourceDetails,
  stateDetails,
  unauthorizedDetails,
  validationDetails,
} from './error-details.ts';

/**
 * Every error code of Holdfast, and when it occurs. Each code is defined only here; the HTTP status, the documents and
 * the client use this list.
 */
export interface ErrorDefinition {
  /** The HTTP status when the code is the answer to a call. */
  readonly status: number;
  readonly description: string;
  /** The contents of `error.details`. Absent: no details. */
  readonly details?: z.ZodType;
  /** Only for errors that end a job: whether an unchanged retry can help, and how to fix the cause. */
  readonly job?: { readonly retryable: boolean; readonly advice: string };
}

export const errors = {
  VALIDATION_ERROR: {
    status: 400,
    description: 'A field, parameter or header is missing or not valid, or the body is not JSON.',
    details: validationDetails,
  },
  UNAUTHORIZED: {
    status: 401,
    description: 'The credential is missing, expired, revoked or malformed.',
    details: unauthorizedDetails,
  },
  FORBIDDEN: {
    status: 403,
    description:
      'The credential is valid but does not allow this: not a member, an API key without the scope or where keys are not allowed, a plan that lacks the feature, or a cookie call from another origin.',
    details: forbiddenDetails,
  },
  PERMISSION_DENIED: {
    status: 403,
    description: "The caller's role in the organization is too low.",
    details: permissionDetails,
  },
  NOT_FOUND: { status: 404, description: 'There is nothing at this path.' },
  ORGANIZATION_NOT_FOUND: { status: 404, description: 'The organization does not exist or is deleted.' },
  MEMBER_NOT_FOUND: { status: 404, description: 'The organization has no such member.' },
  INVITATION_NOT_FOUND: { status: 404, description: 'The invitation does not exist, or is no longer pending.' },
  SERVICE_ACCOUNT_NOT_FOUND: { status: 404, description: 'The organization has no service account.' },
  PROJECT_NOT_FOUND: { status: 404, description: 'The organization has no such project.' },
  STORAGE_DESTINATION_NOT_FOUND: { status: 404, description: 'The organization has no such storage destination.' },
  BACKUP_NOT_FOUND: { status: 404, description: 'The organization has no such backup.' },
  DOCUMENT_NOT_FOUND: {
    status: 404,
    description: 'The backup, or the database at that moment, holds no such document.',
    job: {
      retryable: false,
      advice: 'Look for the document in the contents of another backup; its path has to match exactly.',
    },
  },
  COLLECTION_NOT_FOUND: {
    status: 404,
    description: 'None of the named collections has a document there.',
    job: {
      retryable: false,
      advice: 'Compare the names with the list of collections; capital letters count.',
    },
  },
  RESTORE_NOT_FOUND: { status: 404, description: 'The organization has no such restore job.' },
  SCHEDULE_NOT_FOUND: { status: 404, description: 'The organization has no such schedule.' },
  WEBHOOK_NOT_FOUND: { status: 404, description: 'The organization has no such webhook.' },
  DELIVERY_NOT_FOUND: { status: 404, description: 'The webhook has no such delivery.' },
  METHOD_NOT_ALLOWED: { status: 405, description: 'The path does not take this method; `Allow` lists those it takes.' },
  CONFLICT: {
    status: 409,
    description: 'Another request changes the same thing right now, or the same idempotency key is still in flight.',
  },
  INVITATION_EXISTS: { status: 409, description: 'A pending invitation for this e-mail address exists already.' },
  ALREADY_MEMBER: { status: 409, description: 'The person is a member already.' },
  SLUG_TAKEN: { status: 409, description: 'Another organization has this slug.' },
  SERVICE_ACCOUNT_EXISTS: { status: 409, description: 'The organization has its service account already.' },
  RESOURCE_IN_USE: {
    status: 409,
    description: 'Something depends on the resource or works on it.',
    details: inUseDetails,
  },
  LIMIT_REACHED: {
    status: 409,
    description: 'This installation does not allow more of these.',
    details: limitDetails,
  },
  INVALID_STATE: {
    status: 409,
    description: 'The resource is in a state that does not allow this.',
    details: stateDetails,
    job: {
      retryable: false,
      advice: 'Mend what the message names, such as a target of a drill that is not empty, then try again.',
    },
  },
  CANNOT_REMOVE_OWNER: { status: 409, description: 'The owner cannot leave before ownership is transferred.' },
  GONE: { status: 410, description: 'The path belongs to version 1.x of the product.', details: goneDetails },
  INVITATION_EXPIRED: { status: 410, description: 'The invitation has expired; ask for a new one.' },
  PRECONDITION_FAILED: { status: 412, description: 'The resource has changed since the version named by `If-Match`.' },
  PAYLOAD_TOO_LARGE: { status: 413, description: 'The body is larger than 1 MiB.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, description: 'The body is not sent as `application/json`.' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, description: 'The idempotency key was used with another request.' },
  RATE_LIMITED: { status: 429, description: 'Too many calls; `Retry-After` says when to try again.' },
  HEADERS_TOO_LARGE: { status: 431, description: 'The request headers are larger than the server reads.' },
  SERVICE_UNAVAILABLE: {
    status: 503,
    description: 'The service is starting, stopping or without its database; try again.',
  },

  SOURCE_AUTH_ERROR: {
    status: 502,
    description: 'The source project refused our credentials.',
    details: sourceDetails,
    job: {
      retryable: false,
      advice: 'Reconnect the project (holdfast project reconnect, or its page in the dashboard), then start again.',
    },
  },
  SOURCE_QUOTA_EXCEEDED: {
    status: 502,
    description: 'The source project has used up its read quota.',
    details: sourceDetails,
    job: {
      retryable: true,
      advice:
        'Wait until the quota of the Google project resets or raise it; a lower settings.readRateLimit spreads the reads.',
    },
  },
  SOURCE_UNAVAILABLE: {
    status: 502,
    description: 'The source database could not be reached.',
    details: sourceDetails,
    job: {
      retryable: true,
      advice: 'Try again; if it persists, check the status of Firestore and the network between it and this service.',
    },
  },
  STORAGE_UPLOAD_ERROR: {
    status: 502,
    description: 'Writing to the storage destination failed.',
    details: sourceDetails,
    job: {
      retryable: true,
      advice:
        'Test the destination (holdfast storage test, or its page in the dashboard), mend the step that fails, then start again.',
    },
  },
  STORAGE_UNAVAILABLE: {
    status: 502,
    description: 'The storage destination could not be reached.',
    details: sourceDetails,
    job: {
      retryable: true,
      advice: 'Try again; if it persists, check the endpoint of the destination and the status of its provider.',
    },
  },
  STORAGE_PERMISSION_DENIED: {
    status: 502,
    description: 'The storage destination refused our credentials.',
    details: sourceDetails,
    job: {
      retryable: false,
      advice:
        'Give the credentials the right to read, write, list and delete in the bucket, or set new ones (holdfast storage update, or its page in the dashboard).',
    },
  },
  STORAGE_CREDENTIALS_MISSING: {
    status: 409,
    description: 'The storage destination has no credentials, as after its project moved in from another organization.',
    details: sourceDetails,
    job: {
      retryable: false,
      advice: 'An admin gives the destination its credentials: holdfast storage update, or its page in the dashboard.',
    },
  },
  BACKUP_TIMEOUT: {
    status: 504,
    description: 'The backup took longer than the project allows.',
    job: {
      retryable: true,
      advice: 'Raise settings.backupTimeoutMinutes of the project, or back up fewer collections at once.',
    },
  },
  READ_BUDGET_EXCEEDED: {
    status: 409,
    description: "The backup would read more documents than the project's budget allows.",
    details: budgetDetails,
    job: { retryable: false, advice: 'Raise settings.maxReadsPerBackup of the project, or back up fewer collections.' },
  },
  RESTORE_PERMISSION_DENIED: {
    status: 502,
    description: 'The target project refused our writes.',
    details: sourceDetails,
    job: {
      retryable: false,
      advice: 'Give the connection of the target project the right to write to Firestore, then resume the restore.',
    },
  },
  RESTORE_QUOTA_EXCEEDED: {
    status: 502,
    description: 'The target project has used up its write quota.',
    details: sourceDetails,
    job: {
      retryable: true,
      advice: 'Wait until the quota of the Google project resets or raise it, then resume the restore.',
    },
  },
  INTEGRITY_ERROR: {
    status: 409,
    description: 'Stored backup data does not match its recorded hash.',
    details: sourceDetails,
    job: {
      retryable: false,
      advice:
        'Use another copy or another backup; verify the neighbours of this one and check the bucket for foreign changes.',
    },
  },
  DECRYPTION_ERROR: {
    status: 409,
    description: 'The key that opens this backup is not available.',
    details: decryptionDetails,
    job: {
      retryable: false,
      advice:
        'Supply the key the backup was made with again: holdfast encryption-key set, or Settings, Encryption key in the dashboard.',
    },
  },
  POINT_IN_TIME_UNAVAILABLE: {
    status: 409,
    description: 'The instant is in a gap or outside the captured time.',
    details: pointInTimeDetails,
    job: { retryable: false, advice: 'Choose one of the two nearest reachable instants.' },
  },
  CANCELLED: {
    status: 409,
    description: 'The job was cancelled.',
    job: { retryable: false, advice: 'Start it again when it is wanted; a cancelled restore can be resumed.' },
  },
  INTERNAL_ERROR: {
    status: 500,
    description: 'Something failed that should not; the request id leads to the log.',
    job: { retryable: true, advice: 'Try again; if it fails again, report the request id to the operator.' },
  },
} as const satisfies Record<string, ErrorDefinition>;

export type ErrorCode = keyof typeof errors;
export const errorCodes = Object.keys(errors) as ErrorCode[];

/** The codes that may be in `error.code` of a backup, a restore or a drill. */
export type JobErrorCode = { [C in ErrorCode]: (typeof errors)[C] extends { job: object } ? C : never }[ErrorCode];
export const jobErrorCodes = errorCodes.filter((code) => 'job' in errors[code]) as JobErrorCode[];

/** The possible `error.details` of a code; never anything that is not defined above. */
export type ErrorDetails<Code extends ErrorCode> = Code extends ErrorCode
  ? (typeof errors)[Code] extends { details: infer Details extends z.ZodType }
    ? z.input<Details>
    : Record<string, never>
  : never;

export function errorDefinition(code: ErrorCode): ErrorDefinition {
  return errors[code];
}

/** The answer to an id in a path that is invalid or unknown in the caller's organization. */
export const notFoundByParameter: Readonly<Record<string, ErrorCode>> = {
  organizationId: 'ORGANIZATION_NOT_FOUND',
  userId: 'MEMBER_NOT_FOUND',
  inviteId: 'INVITATION_NOT_FOUND',
  sessionId: 'NOT_FOUND',
  projectId: 'PROJECT_NOT_FOUND',
  storageDestinationId: 'STORAGE_DESTINATION_NOT_FOUND',
  backupId: 'BACKUP_NOT_FOUND',
  documentPath: 'DOCUMENT_NOT_FOUND',
  restoreJobId: 'RESTORE_NOT_FOUND',
  scheduleId: 'SCHEDULE_NOT_FOUND',
  webhookId: 'WEBHOOK_NOT_FOUND',
  deliveryId: 'DELIVERY_NOT_FOUND',
  taskId: 'NOT_FOUND',
};
