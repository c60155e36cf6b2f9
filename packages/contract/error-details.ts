import { z } from 'zod';
import { plans, roles, scopes } from './access.ts';
import { count, identifier, integer, reference, text } from './schemas/primitives.ts';

/** The contents of `error.details`, code by code. */

const fieldFault = z.object({
  field: text({ max: 500 }).describe('Dotted path of the field, or the name of the header or query parameter.'),
  reason: text({ max: 1000 }).describe('What is wrong with it.'),
});

export const validationDetails = fieldFault
  .partial({ reason: true })
  .extend({
    invalidValues: z
      .array(text({ max: 500 }))
      .max(100)
      .optional()
      .describe('The entries that are not allowed.'),
    allowedValues: z
      .array(text({ max: 100 }))
      .max(100)
      .optional()
      .describe('The entries that are allowed.'),
    errors: z
      .array(fieldFault)
      .max(50)
      .optional()
      .describe('All faults, if there are several; the first one is above.'),
  })
  .meta({ id: 'ValidationErrorDetails', description: 'Where and why the request is not valid.' });

export const forbiddenDetails = z
  .object({
    requiredScope: z.enum(scopes).optional(),
    requiredPlan: z.enum(plans).optional(),
    currentPlan: z.enum(plans).optional(),
    reason: z
      .enum(['sign_up_closed', 'plan_changes_closed'])
      .optional()
      .describe('What the operator of this installation does not allow.'),
  })
  .meta({
    id: 'ForbiddenDetails',
    description: 'The missing scope of the API key, the missing plan, or what the operator does not allow.',
  });

export const permissionDetails = z
  .object({ requiredRole: z.enum(roles), currentRole: z.enum(roles) })
  .meta({ id: 'PermissionDeniedDetails', description: 'The role the call needs and the role the caller has.' });

export const inUseDetails = z
  .object({
    usedBy: z
      .array(z.object({ type: text({ max: 50 }), id: identifier() }))
      .max(100)
      .describe('What uses the resource.'),
  })
  .meta({ id: 'ResourceInUseDetails', description: 'What must end or be removed before the resource can change.' });

export const limitDetails = z
  .object({ limit: count().describe('The maximum number.') })
  .meta({ id: 'LimitReachedDetails', description: 'The limit that was reached.' });

export const stateDetails = z
  .object({
    status: text({ max: 50 }).optional().describe('The state the resource is in.'),
    reason: z
      .enum(['realtime_updates_disabled'])
      .optional()
      .describe('The missing feature of the database, without which changes cannot be captured.'),
    storageDestinationId: reference().optional().describe('Where captured changes are stored already.'),
    storageDestinationIds: z
      .array(reference())
      .max(100)
      .optional()
      .describe('Two destinations that are the same place, although two places are needed.'),
    undoneBy: reference().optional().describe('The existing undo of the restore.'),
    safetyBackupId: reference().optional().describe('The backup that an undo would need.'),
  })
  .meta({ id: 'InvalidStateDetails', description: 'Why the call is not allowed; each field only if it applies.' });

export const unauthorizedDetails = z
  .object({
    reason: z
      .enum(['consent_refused', 'provider_error'])
      .optional()
      .describe('How a sign-in at the identity provider ended.'),
  })
  .meta({ id: 'UnauthorizedDetails', description: 'Why a sign-in did not succeed; absent for credentials.' });

export const budgetDetails = z
  .object({ reads: count().describe('What the backup would read.'), budget: count().describe('What it may read.') })
  .meta({ id: 'ReadBudgetDetails', description: 'How many documents would be read, and how many may be.' });

export const goneDetails = z
  .object({ path: text({ max: 2000 }).describe('Where the call lives in version 1 of the API.') })
  .meta({ id: 'GoneDetails', description: 'The path that replaces the one that was called.' });

export const pointInTimeDetails = z
  .object({
    before: z.iso.datetime().max(40).nullable().describe('The latest reachable instant before the one asked for.'),
    after: z.iso.datetime().max(40).nullable().describe('The earliest reachable instant after the one asked for.'),
  })
  .meta({ id: 'PointInTimeDetails', description: 'The two nearest instants that can be reached.' });

export const sourceDetails = z
  .object({
    projectId: reference().optional(),
    storageDestinationId: reference().optional(),
    reason: text({ max: 2000 }).optional().describe('What the other side said.'),
    cause: text({ max: 200 }).optional().describe('Its own code, such as `SignatureDoesNotMatch`.'),
    step: text({ max: 50 }).optional().describe('The step that failed.'),
    missing: text({ max: 500 }).optional().describe('The role or permission that is missing.'),
    reconnect: text({ max: 500 }).optional().describe('The call that repairs the connection.'),
    advice: text({ max: 1000 }).optional().describe('What a person can do about it.'),
  })
  .meta({ id: 'UpstreamErrorDetails', description: 'What the source or the storage said.' });

export const decryptionDetails = sourceDetails
  .extend({
    found: count().optional().describe('How many backups a rescan found; none of them could be opened.'),
    failures: z
      .array(z.object({ key: text({ max: 2000 }), reason: text({ max: 2000 }) }))
      .max(10)
      .optional()
      .describe('Some of them.'),
  })
  .meta({ id: 'DecryptionErrorDetails', description: 'What could not be opened.' });

/** The details in a job's record, each where it applies, and no others. */
export const jobErrorDetails = decryptionDetails
  .omit({ advice: true })
  .extend({
    ...budgetDetails.partial().shape,
    ...pointInTimeDetails.partial().shape,
    backupId: reference().optional(),
    code: text({ max: 200 })
      .optional()
      .describe('The code from the source or the storage, such as `SignatureDoesNotMatch` or `ENOSPC`.'),
    grpcCode: text({ max: 50 }).optional().describe("Firestore's own code."),
    status: integer({ min: 100, max: 599 }).optional().describe('The HTTP status from the source or the storage.'),
    requestId: text({ max: 200 }).optional().describe("The storage's own id of the failed call."),
    permission: text({ max: 200 }).optional().describe('The permission that the credentials lack.'),
    host: text({ max: 300 }).optional().describe('The host that could not be reached.'),
    region: text({ max: 100 }).optional().describe('The region without a known endpoint.'),
    key: text({ max: 2000 }).optional().describe('The object in the storage.'),
    missingObjects: z
      .array(text({ max: 2000 }))
      .max(10)
      .optional()
      .describe('Some of the objects that are missing or have changed.'),
    attempts: count().optional().describe('The number of attempts.'),
  })
  .meta({ id: 'JobErrorDetails', description: 'What is known about the failure; each field only if it applies.' });
export type JobErrorDetails = z.infer<typeof jobErrorDetails>;
