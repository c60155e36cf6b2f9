import { operations } from '@holdfast/contract';
import type { KeptKey } from '@holdfast/engine';
import { changeWithRole } from '../authorize-change.ts';
import type { Caller, OrganizationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import { changeOrganization, findOrganization } from '../organization-store.ts';
import { OrganizationKeys } from './organization-keys.ts';

const { role } = operations.takeRecoveryKit.access;

/** Neither people nor `--kit-file` can mistake this text for a kit. */
export const kitIsShownOnce =
  'No recovery kit: this repeats an answer whose keys were shown once. Take a new one, with another Idempotency-Key or with none.\n';

/** Everything that is needed to open the backups without the service; the owner keeps it somewhere else. */
export async function takeRecoveryKit(
  context: OrganizationsContext,
  organizationId: string,
  caller: Caller,
): Promise<string> {
  const now = context.clock.now();
  return changeWithRole(context, organizationId, caller, role, async (transaction) => {
    const organization = await findOrganization(transaction, organizationId);
    const keys = await new OrganizationKeys(context).kept(transaction, organizationId);
    const destinations = await context.later.destinations(transaction, organizationId);
    await changeOrganization(transaction, organizationId, now, { recoveryKitTakenAt: now });
    await audit(context, transaction, caller, organizationId, {
      action: 'organization.recovery_kit_taken',
      resource: { type: 'organization', id: organizationId },
      details: { keys: keys.map(({ keyId }) => keyId) },
    });
    return kitText({ id: organizationId, name: organization?.name ?? '', takenAt: now, keys, destinations });
  });
}

interface Kit {
  id: string;
  name: string;
  takenAt: Date;
  keys: readonly KeptKey[];
  destinations: readonly { name: string; address: string }[];
}

/** `--kit-file` reads the lines that begin with "key " and "passphrase ". */
function kitText({ id, name, takenAt, keys, destinations }: Kit): string {
  const lines = [
    `Holdfast recovery kit of ${name} (${id}), taken ${takenAt.toISOString()}`,
    '',
    'Whoever has this file and can read the storage can read every backup. Keep it where the service cannot get lost',
    'with it, and take a new one after every change of the encryption key.',
    '',
    'Keys',
    '',
    ...keys.flatMap(keyLines),
    '',
    'Storage destinations (credentials are not in this file)',
    '',
    ...destinations.map(({ name: place, address }) => `${place}: ${address}`),
    '',
    'Commands (the command line needs no service; give S3 credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,',
    "Google's by GOOGLE_APPLICATION_CREDENTIALS)",
    '',
    ...destinations.flatMap(({ address }) => [
      `holdfast local list --store ${quoted(address)} --kit-file recovery-kit.txt`,
      `holdfast local restore latest --store ${quoted(address)} --kit-file recovery-kit.txt --project YOUR-PROJECT`,
    ]),
    '',
  ];
  return lines.join('\n');
}

/** Quotes one word for a shell: other people chose the names of the folders. */
function quoted(address: string): string {
  return `'${address.replaceAll("'", "'\\''")}'`;
}

function keyLines({ keyId, kind, key, derivation, passphrase }: KeptKey): string[] {
  const how = derivation ? ` ${derivation.salt} ${derivation.iterations}` : '';
  const line = `key ${keyId} ${kind} ${key}${how}`;
  return passphrase === null ? [line] : [line, `passphrase ${Buffer.from(passphrase, 'utf8').toString('base64')}`];
}
