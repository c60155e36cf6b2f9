import { randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import { minuteMs } from '../../../platform/durations.ts';
import type { MasterKeyring } from '../../../platform/secrets/master-keyring.ts';
import { hashSecretToken } from '../tokens/secret-tokens.ts';
import type { FlowSecrets } from './identity-provider.ts';
import { insertFlow, lockFlow, removeFlow } from './sign-in-flow-store.ts';

export const flowMs = 10 * minuteMs;

const contents = z.object({
  nonce: z.string(),
  codeVerifier: z.string(),
  browserHash: z.string(),
  redirectUri: z.string().nullable(),
  returnState: z.string().nullable().default(null),
  codeChallenge: z.string().nullable().default(null),
});

/** Where the caller wants to return to with a one-time code. */
export interface ReturnTarget {
  /** Null for the dashboard. */
  redirectUri: string | null;
  /** The caller's own value, to recognise its answer. */
  returnState: string | null;
  /** Of the caller's verifier, without which the code is useless. */
  codeChallenge: string | null;
}

export interface SignInFlow extends FlowSecrets, ReturnTarget {}

/** Open sign-ins at the identity provider. Each is bound to the browser that began it and accepts one answer. */
export class SignInFlows {
  readonly #database: Database;
  readonly #keyring: MasterKeyring;
  readonly #clock: Clock;

  constructor(options: { database: Database; keyring: MasterKeyring; clock: Clock }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
  }

  async begin(browser: string, wish: ReturnTarget): Promise<FlowSecrets> {
    const now = this.#clock.now();
    const secrets = { state: random(), nonce: random(), codeVerifier: random() };
    const stateHash = hashSecretToken(secrets.state);
    const { nonce, codeVerifier } = secrets;
    const text = JSON.stringify({ nonce, codeVerifier, ...wish, browserHash: hashSecretToken(browser) });
    const sealed = this.#keyring.seal(text, flowPurpose(stateHash));
    const expiresAt = new Date(now.getTime() + flowMs);
    await this.#database.system((transaction) =>
      insertFlow(transaction, { stateHash, sealed, createdAt: now, expiresAt }),
    );
    return secrets;
  }

  /**
   * Undefined when the flow is unknown, expired or already answered, or when another browser began it; that browser may
   * still complete it.
   */
  take(state: string, browser: string | undefined): Promise<SignInFlow | undefined> {
    const stateHash = hashSecretToken(state);
    return this.#database.system(async (transaction) => {
      const row = await lockFlow(transaction, stateHash, this.#clock.now());
      if (!row || browser === undefined) return undefined;
      const { browserHash, ...flow } = contents.parse(
        JSON.parse(this.#keyring.openText(row.sealed, flowPurpose(stateHash))),
      );
      if (!timingSafeEqual(Buffer.from(browserHash), Buffer.from(hashSecretToken(browser)))) return undefined;
      await removeFlow(transaction, stateHash);
      return { state, ...flow };
    });
  }
}

export function random(): string {
  return randomBytes(32).toString('base64url');
}

export function flowPurpose(stateHash: string): string {
  return `sign_in_flows:${stateHash}`;
}
