import type { Transaction } from '../../platform/database/database.ts';
import { dayMs, hourMs, later } from '../../platform/durations.ts';
import { createMailWorker, MailOutbox, sendMailJob } from '../../platform/mail.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Caller } from '../../platform/principal.ts';
import type { AuditLog } from '../audit/index.ts';
import { type Module, worker } from '../module.ts';
import type { InvitationsContext, LaterModules } from './context.ts';
import { removeInvitationsBefore } from './invitations/invitation-store.ts';
import { OrganizationKeys } from './keys/organization-keys.ts';
import { remindOfKits } from './keys/remind-of-kits.ts';
import { createOrganization, type Founder } from './lifecycle/create-organization.ts';
import { purgeTask } from './lifecycle/purge-organization.ts';
import { DatabaseActivityNotes } from './members/activity-notes.ts';
import { isActive } from './organization-queries.ts';
import { organizationHandlers, teamHandlers } from './routes.ts';
import { setDefaultStorage } from './set-default-storage.ts';

export type { PurgeHook, Rewrap } from './context.ts';
export { type CountLimit, isLimitReached, requireBelowLimit } from './count-limit.ts';
export { isInvited } from './invitations/invitation-store.ts';
export { withdrawnKeys, withdrawnKeysSql } from './keys/key-store.ts';
export { type OrganizationKey, OrganizationKeys } from './keys/organization-keys.ts';
export {
  activeOrganization,
  defaultStorage,
  type Recipients,
  recipientsOf,
  roleUnderLock,
} from './organization-queries.ts';
export {
  activeIdsAfter,
  activeOrganizations,
  holdOrganization,
  isActiveOrganizationSql,
  isDefaultStorageSql,
  isTaken,
  lockOrganization,
  membershipsOf,
  organizationsExist,
  planOf,
} from './organization-store.ts';
export { type MailsOfPerson, personMailStore } from './person-mail-store.ts';

const mailsAtOnce = 2;
/** After they have expired. */
const invitationsKeptDays = 90;

export interface OrganizationsModule extends Module {
  readonly organizationKeys: OrganizationKeys;
  readonly activity: DatabaseActivityNotes;
  /** False for a deleted organization, also a soft-deleted one: no work runs for it. */
  isActive(organizationId: string): Promise<boolean>;
  setDefaultStorage(transaction: Transaction, caller: Caller, destinationId: string | null): Promise<void>;
  /** Logs which owners have not taken their recovery kit yet. */
  remindOfKits(): Promise<void>;
  /** Creates a person's first organization, also for the person of the local sign-in link. */
  create(founder: Founder, name: string): Promise<{ id: string }>;
}

/** Organizations, members, invitations, service accounts, subscriptions and encryption keys. */
export function createOrganizationsModule(
  platform: Platform,
  audit: AuditLog,
  later: LaterModules,
): OrganizationsModule {
  const { config, database, keyring, log } = platform;
  const context: InvitationsContext = { ...platform, audit, later, mails: new MailOutbox(platform) };
  const isActiveNow = (organizationId: string) =>
    database.tenant(organizationId, (transaction) => isActive(transaction, organizationId));
  const sendMail = createMailWorker({
    database,
    keyring,
    log,
    isActive: isActiveNow,
    smtpUrl: config.SMTP_URL,
    from: config.MAIL_FROM,
  });
  return {
    handlers: { ...organizationHandlers(context), ...teamHandlers(context) },
    workers: [worker(sendMailJob, mailsAtOnce, sendMail)],
    tasks: [
      purgeTask(context),
      { name: 'old invitations', everyMs: hourMs, removesByAge: true, run: () => removeOldInvitations(platform) },
    ],
    organizationKeys: new OrganizationKeys(platform),
    activity: new DatabaseActivityNotes(platform),
    isActive: isActiveNow,
    setDefaultStorage: (transaction, caller, id) => setDefaultStorage(context, transaction, caller, id),
    remindOfKits: () => remindOfKits(context),
    create: (founder, name) => createOrganization(context, founder, { name }),
  };
}

/** The audit log keeps what happened to an invitation. */
async function removeOldInvitations({ database, clock }: Platform): Promise<void> {
  const before = later(clock.now(), -invitationsKeptDays * dayMs);
  await database.system((transaction) => removeInvitationsBefore(transaction, before, 5000));
}
