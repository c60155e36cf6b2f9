import { createHash, randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { minuteMs, pathOf } from '@holdfast/contract';
import { createClient } from '@holdfast/contract/client';
import { CommandFailure } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';
import { openBrowser } from '../open-browser.ts';
import type { StoredSignIn } from './config-file.ts';
import { Loopback, type SignInAnswer } from './loopback.ts';
import { signInFrom } from './token-keeper.ts';

const patienceMinutes = 5;
const refusals: Readonly<Record<string, string>> = {
  access_denied: 'The consent was refused.',
  sign_up_closed: 'Only people who were invited may sign up at this service.',
};
const codePattern = /^hfc_[\w-]+$/;

/**
 * A person signs in at the identity provider with a browser, which returns to a port of this machine with a code. The
 * code is useless without the verifier, which leaves this process only for the exchange.
 */
export async function signInByBrowser(
  url: string,
  { opens, signal }: { opens: boolean; signal: AbortSignal },
): Promise<StoredSignIn> {
  const [state, codeVerifier] = [randomText(), randomText()];
  const loopback = await Loopback.open(state);
  try {
    const address = addressOf(url, loopback.redirectUri, state, codeVerifier);
    process.stderr.write(`Sign in with a browser at\n\n${address}\n\n`);
    if (opens) openBrowser(address);
    process.stderr.write(
      'This waits for it. A browser on another machine ends at a page that cannot be loaded: paste its address here.\n',
    );
    const code = codeOf(await answered(loopback, signal));
    const body = { code, codeVerifier, grant_type: 'authorization_code' } as const;
    return { url, ...signInFrom(await createClient({ baseUrl: url }).exchangeCode({ body })) };
  } finally {
    loopback.close();
  }
}

function addressOf(url: string, redirectUri: string, state: string, codeVerifier: string): string {
  const address = new URL(`${url}${pathOf('startSignIn')}`);
  const query = {
    scope: 'identity',
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return address.href;
}

/** Answered by this machine's browser, or by what a person pastes, whichever comes first. */
async function answered(loopback: Loopback, signal: AbortSignal): Promise<SignInAnswer> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(patienceMinutes * minuteMs)]);
  const terminal = createInterface({ input: process.stdin });
  try {
    return await new Promise<SignInAnswer>((resolve, reject) => {
      const giveUp = () => reject(signal.aborted ? interrupted() : tooLate());
      over.addEventListener('abort', giveUp, { once: true });
      if (over.aborted) giveUp();
      loopback.answer.then(resolve);
      terminal.on('line', (line) => {
        const pasted = line.trim();
        if (pasted === '') return;
        const answer = codePattern.test(pasted) ? { code: pasted } : loopback.read(pasted);
        if (answer !== undefined) resolve(answer);
        else process.stderr.write('This is not the address that this sign-in ends at. Still waiting.\n');
      });
    });
  } finally {
    terminal.close();
  }
}

function codeOf({ code, error }: SignInAnswer): string {
  if (code !== undefined) return code;
  const word = (error ?? '').replaceAll(/[^\w.-]/g, '');
  throw new CommandFailure('UNAUTHORIZED', refusals[word] ?? `The sign-in ended with ${word}.`, {
    exit: exitCode.refused,
  });
}

function interrupted(): CommandFailure {
  return new CommandFailure('CANCELLED', 'Stopped; nobody was signed in.', { exit: exitCode.cancelled });
}

function tooLate(): CommandFailure {
  return new CommandFailure('UNAUTHORIZED', `Nobody signed in within ${patienceMinutes} minutes.`, {
    exit: exitCode.refused,
    remedy: 'Start again; a program signs in with --api-key.',
  });
}

function randomText(): string {
  return randomBytes(32).toString('base64url');
}
