import { pathOf } from '@holdfast/contract';
import { type Client, createClient } from '@holdfast/contract/client';

/** Told when the session is over and cannot be renewed. */
let onSignedOut: () => void = () => undefined;
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

let renewing: Promise<Response> | undefined;

/** Several calls that are refused at once renew the session once. */
function renew(): Promise<Response> {
  renewing ??= fetch(pathOf('refreshTokens'), { method: 'POST' }).finally(() => {
    renewing = undefined;
  });
  return renewing;
}

/** A service that is away or busy has not said that the session is over. */
const isOver = ({ status }: Response) => status >= 400 && status < 500 && status !== 408 && status !== 429;

const withSession: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (response.status !== 401 || String(input).includes('/auth/local')) return response;
  const renewed = await renew();
  if (!renewed.ok && !isOver(renewed)) return renewed.clone();
  if (renewed.ok) {
    const again = await fetch(input, init);
    if (again.status !== 401) return again;
  }
  onSignedOut();
  return response;
};

const clients = new Map<string, Client>();

/** The client of one organization; without one, for calls about the person. Cookies carry the session. */
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
