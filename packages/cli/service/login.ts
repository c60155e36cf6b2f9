import { type Client, createClient, HoldfastError } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { askSecretly, readInput } from '../ask.ts';
import { CommandFailure, wrongUsage } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';
import { signInByBrowser } from './browser-sign-in.ts';
import { configPath, type StoredSignIn, writeSignIn } from './config-file.ts';
import { type ServiceOptions, serviceCommand } from './options.ts';
import { checkedUrl, connect, isApiKey, withInterrupt } from './session.ts';
import { renewed, signInFrom } from './token-keeper.ts';
import { type Identity, identify, showIdentity } from './whoami.ts';

interface LoginOptions extends ServiceOptions {
  readonly apiKey?: string;
  readonly token?: string;
  readonly refreshToken?: string;
  readonly code?: string;
  readonly browser: boolean;
}

const linkPath = '/auth/local';
const waysIn =
  'Give the sign-in link, --api-key, --token, --refresh-token or --code; a person needs a terminal, or --no-browser.';

export function loginCommand(): Command {
  return serviceCommand('login', 'sign in, and remember it in a file that only you can read')
    .argument('[link]', 'the one-time sign-in link that a fresh installation prints')
    .option('--api-key <key>', 'the key of a service account; - reads it from the input')
    .option('--token <token>', 'an access token; - reads it from the input')
    .option('--refresh-token <token>', 'renews itself while it is used; - reads it from the input')
    .option('--code <code>', 'the one-time code of a sign-in; - reads it from the input')
    .option('--no-browser', 'only print the address that a person signs in at, for a browser on another machine')
    .addHelpText(
      'after',
      '\nWith --url alone a person signs in with a browser, where the service has an identity provider.',
    )
    .action(
      async (link: string | undefined, options: LoginOptions) =>
        await withInterrupt(async (signal) => {
          const signIn = await obtain(link, options, signal);
          const identity = await identify(connect(signIn, signal), signIn.token);
          const wanted = options.organization || process.env.HOLDFAST_ORGANIZATION || undefined;
          const organizationId = chooseOrganization(identity, wanted);
          // A link works once, so its sign-in is saved whatever else is wrong.
          await writeSignIn({ ...signIn, ...(organizationId === undefined ? {} : { organizationId }) });
          if (wanted !== undefined && organizationId === undefined) throw wrongUsage(`You do not belong to ${wanted}.`);
          showIdentity({ ...identity, url: signIn.url, organizationId: organizationId ?? null }, options);
          if (!options.json) process.stderr.write(`Kept in ${configPath()}\n`);
          if (!options.json && identity.organizations.length === 0)
            process.stderr.write(
              'You belong to no organization yet: `holdfast organization create <name>` founds one.\n',
            );
        }),
    );
}

async function obtain(link: string | undefined, options: LoginOptions, signal: AbortSignal): Promise<StoredSignIn> {
  if (link !== undefined) return await followLink(link);
  const address = options.url || process.env.HOLDFAST_URL;
  if (!address) throw wrongUsage('Say where the service is, with --url or HOLDFAST_URL.');
  const url = checkedUrl(address);
  const { apiKey, token, refreshToken, code } = options;
  if (refreshToken !== undefined) return await renewed({ url, token: '', refreshToken: await secretOf(refreshToken) });
  if (code !== undefined) {
    const body = { code: await secretOf(code), grant_type: 'authorization_code' } as const;
    return { url, ...signInFrom(await createClient({ baseUrl: url }).exchangeCode({ body })) };
  }
  const given = apiKey ?? token;
  if (given !== undefined) return { url, token: await secretOf(given) };
  // A program without a secret gets an error instead of waiting for a person.
  if (!process.stdin.isTTY && options.browser) throw wrongUsage(waysIn);
  const { provider } = await createClient({ baseUrl: url }).getSignInMethods();
  if (provider !== null) return await signInByBrowser(url, { opens: options.browser, signal });
  return { url, token: await askForKey() };
}

/** The link sets cookies because it is made for a browser; a command needs the tokens in them. */
async function followLink(link: string): Promise<StoredSignIn> {
  const found = URL.parse(link);
  const token = found?.searchParams.get('token');
  if (!found?.pathname.endsWith(linkPath) || !token) throw wrongUsage(`This is no sign-in link: ${link}`);
  const url = checkedUrl(`${found.origin}${found.pathname.slice(0, -linkPath.length)}`);
  const client: Client = createClient({ baseUrl: url });
  const { headers } = await client.request('signInWithLink', { body: { token } }).catch(explainLinkFailure);
  const cookies = new Map(
    headers.getSetCookie().map((line) => line.split(';')[0]!.split(/=(.*)/s, 2) as [string, string]),
  );
  const [accessToken, refreshToken] = [cookies.get('holdfast_access'), cookies.get('holdfast_refresh')];
  if (!accessToken || !refreshToken) throw wrongUsage('The link was taken, yet no session came with it.');
  return await renewed({ url, token: accessToken, refreshToken });
}

/** A person who repeats the same command is already signed in. */
function explainLinkFailure(error: unknown): never {
  if (!(error instanceof HoldfastError && error.code === 'UNAUTHORIZED')) throw error;
  throw new CommandFailure(error.code, error.message, {
    exit: exitCode.refused,
    remedy: 'Each start prints another link; `holdfast whoami` tells whether you are signed in already.',
  });
}

function chooseOrganization({ organizations }: Identity, wanted: string | undefined): string | undefined {
  if (wanted === undefined) return organizations.length === 1 ? organizations[0]!.id : undefined;
  return organizations.find(({ id, name }) => id === wanted || name === wanted)?.id;
}

async function secretOf(given: string): Promise<string> {
  const secret = (given === '-' ? await readInput() : given).trim();
  if (secret === '') throw wrongUsage('The secret is empty.');
  return secret;
}

async function askForKey(): Promise<string> {
  if (!process.stdin.isTTY) throw wrongUsage(waysIn);
  const key = (await askSecretly('API key: ')).trim();
  if (!isApiKey(key)) throw wrongUsage('An API key begins with fb_sa_.');
  return key;
}
