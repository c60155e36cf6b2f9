import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { insertSigningKey, lockCurrentKey } from '../modules/auth/tokens/signing-key-store.ts';
import type { Platform } from '../platform/platform.ts';

/** One pair for all services of this process, because making one takes longer than starting a service. */
let made: Promise<{ publicJwk: JWK; privateJwk: JWK }> | undefined;

async function make() {
  const pair = await generateKeyPair('RS256', { modulusLength: 2048, extractable: true });
  return { publicJwk: await exportJWK(pair.publicKey), privateJwk: await exportJWK(pair.privateKey) };
}

/** Stores the key that the service would otherwise make with its first token. */
export async function giveSigningKey({ config, database, keyring, ids, clock }: Platform): Promise<void> {
  if (config.JWT_ALGORITHM === 'HS256') return;
  made ??= make();
  const { publicJwk, privateJwk } = await made;
  const id = ids.next('key');
  const row = {
    id,
    publicJwk: JSON.stringify({ ...publicJwk, kid: id, alg: 'RS256', use: 'sig' }),
    privateJwk: keyring.seal(JSON.stringify(privateJwk), `signing_keys:${id}`),
    createdAt: clock.now(),
  };
  await database.system(async (transaction) => {
    if (!(await lockCurrentKey(transaction))) await insertSigningKey(transaction, row);
  });
}
