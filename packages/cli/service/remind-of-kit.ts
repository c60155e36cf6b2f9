import type { Client } from '@holdfast/contract/client';

/** Told to the owner beside the answer, until the kit was taken. A reminder that cannot be had is no failure. */
export async function remindOfKit(client: Client): Promise<void> {
  try {
    const { recoveryKitTakenAt, owner } = await client.getOrganization();
    if (recoveryKitTakenAt !== null || (await client.getMe()).email !== owner.email) return;
    process.stderr.write('The recovery kit was never taken: `holdfast recovery-kit` writes it down.\n');
  } catch {
    // A key is no owner, and a service that does not answer has said so already.
  }
}
