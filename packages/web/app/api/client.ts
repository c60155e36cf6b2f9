import { pathOf } from '@holdfast/contract';
import { type Client, createClient } from '@holdfast/contract/client';
import { hearServiceClock } from '../format/service-clock.ts';

/** Called when the session has ended and cannot be renewed; resolves to whether the same person signed in again. */
let onSignedOut: () => Promise<boolean> = async () => false;
export function whenSignedOut(listener: () => Promise<boolean>): void {
  onSignedOut = listener;
}

let signingIn: Promise<boolean> | undefined;

function signedInAgain(): Promise<boolean> {
  signingIn ??= onSignedOut().finally(() => {
    signingIn = undefined;
  });
  return signingIn;
}

let renewing: Promise<Response> | undefined;

/** Several refused calls share one renewal. */
function renew(): Promise<Response> {
  renewing ??= fetch(pathOf('refreshTokens'), { method: 'POST' }).finally(() => {
    renewing = undefined;
  });
  return renewing;
}

/** A service that is down or busy has not ended the session. */
const isOver = ({ status }: Response) => status >= 400 && status < 500 && status !== 408 && status !== 429;

/** Calls wait while the person signs in again and then continue, so that nothing unsaved is lost. */
const withSession: typeof fetch = async (input, init) => {
  if (signingIn) await signingIn;
  const response = await fetch(input, init);
  hearServiceClock(response);
  if (response.status !== 401 || String(input).includes('/auth/local')) return response;
  const renewed = await renew();
  if (!renewed.ok && !isOver(renewed)) return renewed.clone();
  if (renewed.ok) {
    const again = await fetch(input, init);
    if (again.status !== 401) return again;
  }
  // The call timed out while it waited for the person.
  return (await signedInAgain()) ? await fetch(input, { ...init, signal: null }) : response;
};

const clients = new Map<string, Client>();

/** The client of one organization, or of the person alone. The session is in cookies. */
export function clientFor(organizationId?: string): Client {
  const key = organizationId ?? '';
  let client = clients.get(key);
  if (!client) {
    client = createClient({
      baseUrl: window.location.origin,
      fetch: withSession,
      retry: { attemptsMax: 3, delayMsMax: 5000 },
      ...(organizationId === undefined ? {} : { organizationId }),
    });
    clients.set(key, client);
  }
  return client;
}
