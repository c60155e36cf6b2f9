import { type Client, createClient } from '@holdfast/contract/client';
import { CommandFailure, wrongUsage } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';
import { readSignIn, type StoredSignIn } from './config-file.ts';
import type { ServiceOptions } from './options.ts';
import { TokenKeeper } from './token-keeper.ts';

/** Everything a command against the service needs; stopped by Ctrl-C. */
export interface Service {
  readonly client: Client;
  readonly signal: AbortSignal;
}

export async function withService(options: ServiceOptions, work: (service: Service) => Promise<void>): Promise<void> {
  const signIn = await signInOf(options);
  await withInterrupt(async (signal) => {
    const organizationId = signIn.organizationId ?? (await onlyOrganization(connect(signIn, signal), signIn));
    await work({ client: connect({ ...signIn, ...(organizationId && { organizationId }) }, signal), signal });
  });
}

/** Ctrl-C aborts all running calls. */
export async function withInterrupt(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  try {
    await work(stop.signal);
  } catch (cause) {
    const isReported = cause instanceof CommandFailure && cause.exit === exitCode.cancelled;
    if (!stop.signal.aborted || isReported) throw cause;
    throw new CommandFailure('CANCELLED', 'Stopped; work that the service has begun continues there.', {
      exit: exitCode.cancelled,
      remedy: 'See `holdfast status`; `cancel` stops a backup or a restore.',
      cause,
    });
  } finally {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onInterrupt);
  }
}

export function connect(signIn: StoredSignIn, signal?: AbortSignal): Client {
  const { url, organizationId } = signIn;
  const keeper = new TokenKeeper(signIn);
  return createClient({
    baseUrl: url,
    getToken: (why) => keeper.token(why),
    ...(organizationId === undefined ? {} : { organizationId }),
    ...(signal === undefined ? {} : { fetch: interruptible(signal) }),
  });
}

function interruptible(signal: AbortSignal): typeof fetch {
  return (input, init) =>
    fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([signal, init.signal]) : signal });
}

/** From the environment, or else from the file. A stored secret is only ever sent to the address that it belongs to. */
export async function signInOf(options: ServiceOptions): Promise<StoredSignIn> {
  const { HOLDFAST_URL, HOLDFAST_TOKEN, HOLDFAST_API_KEY, HOLDFAST_ORGANIZATION } = process.env;
  const given = HOLDFAST_TOKEN || HOLDFAST_API_KEY;
  const asked = options.url || HOLDFAST_URL || undefined;
  const stored = given && asked ? undefined : await readSignIn();
  const url = asked ?? stored?.url;
  if (url === undefined)
    throw wrongUsage('There is no service to ask.', 'Use `holdfast login`, --url or HOLDFAST_URL.');
  const organization = options.organization || HOLDFAST_ORGANIZATION;
  const chosen = organization ? { organizationId: organization } : {};
  if (given) return { url: checkedUrl(url), token: given, ...chosen };
  if (stored === undefined || !isSameService(stored.url, url)) throw notSignedIn(url);
  return { ...stored, ...chosen };
}

function notSignedIn(url: string): CommandFailure {
  return new CommandFailure('UNAUTHORIZED', `Nobody is signed in at ${url}.`, {
    exit: exitCode.refused,
    remedy: 'Sign in with `holdfast login`, or set HOLDFAST_TOKEN or HOLDFAST_API_KEY.',
  });
}

function isSameService(left: string, right: string): boolean {
  return checkedUrl(left) === checkedUrl(right);
}

export function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw wrongUsage(`${text} is not the address of a service.`);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

export function isApiKey(token: string): boolean {
  return token.startsWith('fb_sa_');
}

/** A key belongs to one organization; a person with several has to choose one. */
async function onlyOrganization(client: Client, { token }: { token: string }): Promise<string | undefined> {
  if (isApiKey(token)) return undefined;
  const { organizations } = await client.getMe();
  if (organizations.length === 1) return organizations[0]!.id;
  const choice = organizations.map(({ id, name }) => `  ${id}  ${name}`).join('\n');
  if (organizations.length === 0)
    throw wrongUsage(
      'You belong to no organization yet.',
      'Found one with `holdfast organization create <name>`, or ask to be invited into one.',
    );
  throw wrongUsage(`Choose an organization with --organization or HOLDFAST_ORGANIZATION:\n${choice}`);
}
