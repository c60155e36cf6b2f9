import type { Client } from '@holdfast/contract/client';

/** Told to the owner beside the answer, until a kit with the key in use was taken. A reminder that cannot be had is no failure. */
export async function remindOfKit(client: Client): Promise<void> {
  try {
    const { recoveryKitTakenAt, owner } = await client.getOrganization();
    if (recoveryKitTakenAt !== null || (await client.getMe()).email !== owner.email) return;
    process.stderr.write('No recovery kit holds the key in use: `holdfast recovery-kit` writes one down.\n');
  } catch {
    // A key is no owner, and a service that does not answer has said so already.
  }
}
