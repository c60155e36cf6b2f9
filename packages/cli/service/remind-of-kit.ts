import type { Client } from '@holdfast/contract/client';

/**
 * Reminds the owner, besides the answer, until a kit with the current key was taken. If the reminder cannot be read,
 * nothing fails.
 */
export async function remindOfKit(client: Client): Promise<void> {
  try {
    const { recoveryKitTakenAt, owner } = await client.getOrganization();
    if (recoveryKitTakenAt !== null || (await client.getMe()).email !== owner.email) return;
    process.stderr.write('No recovery kit holds the key in use: `holdfast recovery-kit` writes one down.\n');
  } catch {
    // A key is not an owner, and an unreachable service was already reported.
  }
}
