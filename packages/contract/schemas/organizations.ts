import { z } from 'zod';
import { plans, roles, scopes } from '../access.ts';
import {
  bytes,
  count,
  email,
  identifier,
  integer,
  link,
  name,
  reference,
  text,
  timestamp,
  timeZone,
} from './primitives.ts';

const role = z.enum(roles);
const slug = z
  .string()
  .min(2)
  .max(63)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, { error: 'must be lower-case letters, digits and single hyphens' });

/** What people get mails about: once when it begins, once when it is over. */
export const notificationEvents = [
  'backup.failed',
  'schedule.failed',
  'backup.anomaly',
  'pitr.stopped',
  'storage.error',
] as const;

const notifiedEvents = z.array(z.enum(notificationEvents)).max(notificationEvents.length);
const notifications = z
  .object({
    emails: z
      .array(email())
      .max(50)
      .describe('These addresses get the mail instead of owners and admins; an empty list: nobody gets any.'),
    events: notifiedEvents,
  })
  .meta({ id: 'NotificationSettings', description: 'Who gets mail, and about what.' });

const settings = z
  .object({
    timezone: timeZone().describe('IANA time zone; schedules default to it.'),
    defaultStorageId: identifier('dst')
      .nullable()
      .describe('Where backups without a destination of their own are stored.'),
    notifications: notifications.nullable().describe('Null: owners and admins get mail about everything.'),
  })
  .meta({ id: 'OrganizationSettings', description: 'Settings of an organization.' });

const subscription = z
  .object({ plan: z.enum(plans), status: z.enum(['active']), billingCycle: z.enum(['monthly', 'yearly']) })
  .meta({ id: 'Subscription', description: 'What the organization has subscribed to.' });

export const subscriptionDetail = subscription
  .extend({
    plans: z
      .array(
        z.object({
          plan: z.enum(plans),
          auditLogDays: count().describe('How long entries of the audit log are kept.'),
          ownEncryptionKey: z.boolean().describe("Whether a key of the customer's own can be set, and keys rotated."),
        }),
      )
      .max(plans.length)
      .describe('What each plan gives, the lowest first. Nothing else depends on the plan.'),
    changedBy: z.enum(['owner', 'operator']).describe('Who may choose another plan in this installation.'),
  })
  .meta({ id: 'SubscriptionDetail', description: 'What the organization has subscribed to, and what that decides.' });

export const createdOrganization = z
  .object({ id: identifier('org'), name: text({ max: 100 }), slug, ownerId: identifier('usr'), createdAt: timestamp() })
  .meta({ id: 'CreatedOrganization', description: 'A new or recovered organization.' });

export const organizationSummary = z
  .object({
    id: identifier('org'),
    name: text({ max: 100 }),
    slug,
    role: role.describe("The caller's role."),
    memberCount: count(),
    projectCount: count(),
    createdAt: timestamp(),
  })
  .meta({ id: 'OrganizationSummary', description: 'An organization the caller belongs to.' });

export const recoverableOrganization = z
  .object({
    id: identifier('org'),
    name: text({ max: 100 }),
    slug,
    deletedAt: timestamp(),
    recoveryDeadline: timestamp().describe('Until then it can be recovered.'),
  })
  .meta({
    id: 'RecoverableOrganization',
    description: 'A deleted organization that the caller owned and can recover.',
  });

const installationAllows = z
  .object({
    emulators: z.boolean().describe('Projects may connect to an emulator.'),
    folders: z.boolean().describe('Backups may go into a folder of the service.'),
    sample: z.boolean().describe('There is a sample project to try things with.'),
    googleConsent: z.boolean().describe('Projects may connect through the consent of a person at Google.'),
  })
  .meta({
    id: 'InstallationAllows',
    description: 'What the operator of the service allows in addition to key files and buckets.',
  });

export const organization = z
  .object({
    id: identifier('org'),
    name: text({ max: 100 }),
    slug,
    owner: z.object({ id: identifier('usr'), email: email(), name: text({ max: 200 }) }),
    settings,
    statistics: z.object({
      memberCount: count(),
      projectCount: count(),
      backupCount: count(),
      storageUsed: bytes().describe('Bytes of all backups in all destinations.'),
    }),
    subscription,
    recoveryKitTakenAt: timestamp()
      .nullable()
      .describe('Null: the owner has taken no recovery kit since the encryption key last changed.'),
    allows: installationAllows,
    createdAt: timestamp(),
    updatedAt: timestamp(),
  })
  .meta({ id: 'Organization', description: 'The organization named by `X-Organization-Id`.' });

export const updatedOrganization = z
  .object({ id: identifier('org'), name: text({ max: 100 }), settings, updatedAt: timestamp() })
  .meta({ id: 'UpdatedOrganization', description: 'What a change of an organization answers.' });

export const deletedOrganization = z
  .object({
    id: identifier('org'),
    deleted: z.boolean(),
    deletionType: z.enum(['soft', 'permanent']),
    recoveryDeadline: timestamp()
      .nullable()
      .describe('Until then the owner can recover it; null after a permanent delete.'),
  })
  .meta({ id: 'DeletedOrganization', description: 'How an organization was deleted.' });

export const member = z
  .object({
    userId: identifier('usr'),
    email: email(),
    name: text({ max: 200 }),
    picture: link().nullable(),
    role,
    status: z.enum(['active']),
    joinedAt: timestamp(),
    lastActiveAt: timestamp().nullable(),
  })
  .meta({ id: 'Member', description: 'A person in the organization.' });

export const updatedMember = z
  .object({ userId: identifier('usr'), role, updatedAt: timestamp() })
  .meta({ id: 'UpdatedMember', description: 'The new role of a member.' });

export const invitation = z
  .object({
    id: identifier('inv'),
    email: email(),
    role,
    status: z.enum(['pending', 'accepted', 'cancelled', 'expired']),
    expiresAt: timestamp(),
    createdAt: timestamp(),
  })
  .meta({ id: 'Invitation', description: 'An invitation into the organization.' });

export const listedInvitation = invitation
  .extend({ invitedBy: z.object({ id: identifier('usr'), email: email() }) })
  .meta({ id: 'ListedInvitation', description: 'A pending invitation and who sent it.' });

export const resentInvitation = z
  .object({ id: identifier('inv'), email: email(), resentAt: timestamp(), expiresAt: timestamp() })
  .meta({ id: 'ResentInvitation', description: 'An invitation that was sent again.' });

export const shownInvitation = z
  .object({
    organization: z.object({ name: text({ max: 100 }) }),
    email: email().describe('Who accepts it signs in with this address.'),
    role,
    invitedBy: z.object({ email: email() }),
    expiresAt: timestamp(),
  })
  .meta({ id: 'ShownInvitation', description: 'What the mail of an invitation says, for anyone who has its link.' });

export const acceptedInvitation = z
  .object({
    organization: z.object({ id: identifier('org'), name: text({ max: 100 }), slug }),
    role,
    joinedAt: timestamp(),
  })
  .meta({ id: 'AcceptedInvitation', description: 'The organization the caller has joined.' });

const permissions = z.array(z.enum(scopes)).min(1).max(scopes.length);
const apiKey = z
  .string()
  .max(64)
  .regex(/^fb_sa_[0-9A-Za-z]+$/)
  .describe('Shown once; only its hash is kept.');

export const serviceAccount = z
  .object({
    id: identifier('sa'),
    name: text({ max: 100 }),
    email: email().describe('The identity that its actions have in the audit log.'),
    permissions,
    lastUsedAt: timestamp().nullable(),
    createdAt: timestamp(),
  })
  .meta({ id: 'ServiceAccount', description: 'The one service account of the organization.' });

export const createdServiceAccount = z
  .object({
    id: identifier('sa'),
    name: text({ max: 100 }),
    apiKey: apiKey.nullable(),
    permissions,
    createdAt: timestamp(),
  })
  .meta({
    id: 'CreatedServiceAccount',
    description: 'A service account with its key; the key is null in a replayed answer.',
  });

export const rotatedServiceAccount = z
  .object({
    id: identifier('sa'),
    name: text({ max: 100 }),
    apiKey: apiKey.nullable(),
    permissions,
    previousKeyValidUntil: timestamp(),
  })
  .meta({ id: 'RotatedServiceAccount', description: 'The new key, and how long the old one still works.' });

export const encryptionKey = z
  .object({
    source: z.enum(['service', 'customer']).describe('Whose key wraps the keys of new backups.'),
    type: z.enum(['passphrase', 'key']).nullable().describe('How the customer gave it; null for the service key.'),
    version: integer({ min: 1, max: 1_000_000 }).describe('Rises with every change and rotation.'),
    updatedAt: timestamp(),
  })
  .meta({
    id: 'EncryptionKey',
    description: "What encrypts the organization's backups. The key itself is never shown.",
  });

export const rotatedEncryptionKey = encryptionKey
  .extend({ rewrapped: count().describe('Backup keys that were re-wrapped.') })
  .meta({ id: 'RotatedEncryptionKey', description: 'The result of a rotation.' });

export const createOrganizationRequest = z.strictObject({
  name,
  slug: slug.optional().describe('Made from the name when absent.'),
});

export const updateOrganizationRequest = z.strictObject({
  name: name.optional(),
  settings: z
    .strictObject({
      timezone: timeZone().optional(),
      defaultStorageId: reference().nullable().optional(),
      notifications: z
        .strictObject({
          emails: z
            .array(email())
            .max(50)
            .describe('These addresses get the mail instead of owners and admins; an empty list: nobody gets any.'),
          events: notifiedEvents.default([...notificationEvents]),
        })
        .nullable()
        .optional()
        .describe('Null returns to owners and admins.'),
    })
    .optional(),
});

export const deleteOrganizationRequest = z.strictObject({
  force: z.boolean().default(false).describe('Delete permanently at once; nothing can be recovered.'),
  confirmName: text({ min: 1, max: 100 }).describe("The organization's name, as a safeguard."),
});

export const updateMemberRequest = z.strictObject({ role: role.describe('`owner` transfers ownership.') });

export const inviteRequest = z.strictObject({
  email: email(),
  role: z.enum(['admin', 'member', 'viewer']).default('member').describe('Nobody is invited as owner.'),
});

export const acceptInvitationRequest = z.strictObject({
  token: text({ min: 1, max: 512 }).describe('From the link in the e-mail.'),
});

export const createServiceAccountRequest = z.strictObject({
  name,
  permissions: permissions
    .refine((values) => new Set(values).size === values.length, { error: 'must not repeat a scope' })
    .optional()
    .describe('Absent: every `:read` scope.'),
});

export const rotateServiceAccountRequest = z.strictObject({
  graceSeconds: integer({ min: 0, max: 2_592_000 }).default(86_400).describe('How long the old key still works.'),
});

export const updateSubscriptionRequest = z.strictObject({
  plan: z.enum(plans).optional(),
  status: z.enum(['active']).optional(),
  billingCycle: z.enum(['monthly', 'yearly']).optional(),
});

export const setEncryptionKeyRequest = z
  .strictObject({
    passphrase: text({ min: 12, max: 1024 }).optional().describe('A key is derived from it with PBKDF2-HMAC-SHA256.'),
    key: z
      .string()
      .length(44)
      .regex(/^[A-Za-z0-9+/]{43}=$/, { error: 'must be 32 bytes in base64' })
      .optional()
      .describe('32 bytes in base64.'),
  })
  .refine((value) => (value.passphrase === undefined) !== (value.key === undefined), {
    error: 'give either a passphrase or a key',
    path: ['passphrase'],
  });
