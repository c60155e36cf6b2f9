import type { Transaction } from '../../platform/database/database.ts';
import type { MailOutbox } from '../../platform/mail.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Person, RequestOrigin, ServiceAccountKey } from '../../platform/principal.ts';
import type { AuditLog } from '../audit/index.ts';
import type { OrganizationKey } from './keys/organization-keys.ts';

/** Who asks for a change, and from where. Every call is one. */
export interface Caller {
  readonly principal: Person | ServiceAccountKey;
  readonly origin: RequestOrigin;
}

/** A change that honours If-Match. */
export interface ConditionalCaller extends Caller {
  requireMatch(etag: string): void;
}

/** What a re-wrap works with: every key of the organization that is at hand, and the one that wraps from now on. */
export interface RewrapKeys {
  /** Throws DECRYPTION_ERROR for a key that was withdrawn. */
  open(keyId: string): OrganizationKey;
  readonly wrapWith: OrganizationKey;
  /** For what bears the name of none of them: another service made it with the same passphrase and a salt of its own. */
  readonly atHand: readonly OrganizationKey[];
}

/** Wraps the keys a module keeps anew, in the transaction of the rotation; tells how many. */
export type Rewrap = (transaction: Transaction, organizationId: string, keys: RewrapKeys) => Promise<number>;

/**
 * Runs in the transaction that removes an organization, while its rows still stand. It enqueues whatever must happen
 * outside of the database afterwards, such as the deletion of objects, with all it needs for that.
 */
export type PurgeHook = (transaction: Transaction, organizationId: string) => Promise<void>;

/** What organizations need of the modules that come after them. */
export interface LaterModules {
  storageExists(transaction: Transaction, organizationId: string, storageId: string): Promise<boolean>;
  /** The transaction may span organizations. */
  countProjects(transaction: Transaction, organizationIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** What the person's consent carried in this organization ends with their membership. */
  memberLeft(transaction: Transaction, organizationId: string, userId: string): Promise<void>;
  measureBackups(
    transaction: Transaction,
    organizationId: string,
  ): Promise<{ backupCount: number; storageUsed: number }>;
  /** A backup under legal hold, which keeps the whole organization from being deleted. */
  heldBackup(transaction: Transaction, organizationId: string): Promise<string | undefined>;
  /** Whatever runs for an organization stops, and goes on when it is recovered. */
  standStill(transaction: Transaction, organizationId: string): Promise<void>;
  /** The keys that lie beside the backups follow, and whoever works with one that was withdrawn lets go of it. */
  keysChanged(transaction: Transaction, organizationId: string, withdrawn?: readonly string[]): Promise<void>;
  /** Where backups lie, as the command line addresses it; no credentials. */
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
