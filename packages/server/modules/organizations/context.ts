import type { Transaction } from '../../platform/database/database.ts';
import type { MailOutbox } from '../../platform/mail.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Person, RequestOrigin, ServiceAccountKey } from '../../platform/principal.ts';
import type { AuditLog } from '../audit/index.ts';
import type { OrganizationKey } from './keys/organization-keys.ts';

/** Who asks for a change, and from where. */
export interface Caller {
  readonly principal: Person | ServiceAccountKey;
  readonly origin: RequestOrigin;
}

/** A change that honours If-Match. */
export interface ConditionalCaller extends Caller {
  requireMatch(etag: string): void;
}

/** The keys for a re-wrap: every available key of the organization, and the one that wraps from now on. */
export interface RewrapKeys {
  /** Throws DECRYPTION_ERROR for a key that was withdrawn. */
  open(keyId: string): OrganizationKey;
  readonly wrapWith: OrganizationKey;
  /** For wrapped keys that name none of these: another service made them with the same passphrase and another salt. */
  readonly atHand: readonly OrganizationKey[];
}

/** Re-wraps the keys that a module stores, in the transaction of the rotation; returns how many. */
export type Rewrap = (transaction: Transaction, organizationId: string, keys: RewrapKeys) => Promise<number>;

/**
 * Runs in the transaction that removes an organization, before its rows are removed. It enqueues what has to happen
 * outside the database, such as deleting objects, with all the data that this needs.
 */
export type PurgeHook = (transaction: Transaction, organizationId: string) => Promise<void>;

/** What organizations need from the modules that come after them. */
export interface LaterModules {
  storageExists(transaction: Transaction, organizationId: string, storageId: string): Promise<boolean>;
  /** The transaction may span organizations. */
  countProjects(transaction: Transaction, organizationIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Ends the use of the person's consent in this organization when they leave. */
  memberLeft(transaction: Transaction, organizationId: string, userId: string): Promise<void>;
  measureBackups(
    transaction: Transaction,
    organizationId: string,
  ): Promise<{ backupCount: number; storageUsed: number }>;
  /** A backup under legal hold, if there is one: it prevents the deletion of the organization. */
  heldBackup(transaction: Transaction, organizationId: string): Promise<string | undefined>;
  /** Pauses all running work of an organization; it continues when the organization is recovered. */
  pauseWork(transaction: Transaction, organizationId: string): Promise<void>;
  /** Updates the copies of the keys beside the backups. Running work that uses a withdrawn key has to stop. */
  keysChanged(transaction: Transaction, organizationId: string, withdrawn?: readonly string[]): Promise<void>;
  /** Where the backups are, as addresses for the command line, without credentials. */
  destinations(transaction: Transaction, organizationId: string): Promise<{ name: string; address: string }[]>;
  readonly rewraps: readonly Rewrap[];
  readonly purgeHooks: readonly PurgeHook[];
}

export interface OrganizationsContext extends Platform {
  readonly audit: AuditLog;
  readonly later: LaterModules;
}

export interface InvitationsContext extends OrganizationsContext {
  readonly mails: MailOutbox;
}
