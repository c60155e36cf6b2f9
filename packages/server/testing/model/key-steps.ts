import type { World } from './world.ts';

export interface KeyStep {
  readonly do: 'renew key';
  readonly how: 'rotate' | 'passphrase';
}

const path = '/organizations/current/encryption-key';

/** The keys of all backups are rewrapped; their manifests follow while other things happen. */
export async function renewKey(world: World, { how }: KeyStep): Promise<string[]> {
  if (how === 'passphrase') {
    const set = await world.call('PUT', path, { passphrase: 'four words nobody would guess' });
    if (set.status >= 300) return [`a passphrase was refused: ${set.text}`];
  }
  const rotated = await world.call('POST', `${path}/rotate`);
  return rotated.status < 300 ? [] : [`a rotation was refused: ${rotated.text}`];
}
