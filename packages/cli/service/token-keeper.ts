import { createClient, HoldfastError } from '@holdfast/contract/client';
import { CommandFailure } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';
import { readSignIn, type StoredSignIn, writeSignIn } from './config-file.ts';

/** Renewed a little early, so that a token does not expire during a call. */
const marginMs = 30_000;

/** Renews a stored sign-in, also when other commands use the same file. */
export class TokenKeeper {
  #signIn: StoredSignIn;
  #renewal: Promise<string> | undefined;

  constructor(signIn: StoredSignIn) {
    this.#signIn = signIn;
  }

  async token({ refused }: { refused: boolean }): Promise<string> {
    const { token, refreshToken, expiresAtMs = Number.POSITIVE_INFINITY } = this.#signIn;
    if (refreshToken === undefined || (!refused && Date.now() < expiresAtMs - marginMs)) return token;
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return await this.#renewal;
  }

  /** A refresh token works once, and using it again later ends the sign-in, so another command's renewal is used. */
  async #renew(): Promise<string> {
    const stored = await readSignIn();
    const isShared = stored?.refreshToken !== undefined && stored.url === this.#signIn.url;
    if (isShared && stored.refreshToken !== this.#signIn.refreshToken) {
      this.#signIn = stored;
      if (Date.now() < (stored.expiresAtMs ?? 0) - marginMs) return stored.token;
    }
    this.#signIn = await renewed(this.#signIn);
    // A sign-in that was changed meanwhile stays as it is, and so does the chosen organization.
    const { token, refreshToken, expiresAtMs } = this.#signIn;
    if (isShared && refreshToken !== undefined && expiresAtMs !== undefined)
      await writeSignIn({ ...stored, token, refreshToken, expiresAtMs });
    return token;
  }
}

export async function renewed(signIn: StoredSignIn): Promise<StoredSignIn> {
  const { url, refreshToken = '' } = signIn;
  try {
    const tokens = await createClient({ baseUrl: url }).refreshTokens({ body: { refreshToken } });
    return { ...signIn, ...signInFrom(tokens) };
  } catch (cause) {
    if (!(cause instanceof HoldfastError) || cause.status !== 401) throw cause;
    const more = { exit: exitCode.refused, remedy: 'Sign in again with `holdfast login`.', cause };
    throw new CommandFailure('UNAUTHORIZED', 'The sign-in has ended.', more);
  }
}

export function signInFrom(tokens: { accessToken: string; refreshToken: string; expiresIn: number }) {
  const { accessToken: token, refreshToken, expiresIn } = tokens;
  return { token, refreshToken, expiresAtMs: Date.now() + expiresIn * 1000 };
}
