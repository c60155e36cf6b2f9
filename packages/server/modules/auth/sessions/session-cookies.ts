import type { CookieSerializeOptions } from '@fastify/cookie';
import { accessCookie, refreshCookie } from '../../../http/authentication.ts';
import type { TokenPair } from './sessions.ts';

/** Binds a sign-in to the browser that began it. */
export const browserCookie = 'holdfast_sign_in';

export interface Cookie {
  name: string;
  value: string;
  options: CookieSerializeOptions;
}

const shared = { httpOnly: true, secure: true, sameSite: 'lax' } as const;
/** The refresh token is only sent to the calls that can use it. */
const authPath = '/api/v1/auth';

export function sessionCookies(pair: TokenPair, refreshLifetimeSeconds: number): Cookie[] {
  return [
    { name: accessCookie, value: pair.accessToken, options: { ...shared, path: '/', maxAge: pair.expiresIn } },
    {
      name: refreshCookie,
      value: pair.refreshToken,
      options: { ...shared, path: authPath, maxAge: refreshLifetimeSeconds },
    },
  ];
}

export function endedSessionCookies(): Cookie[] {
  return [
    { name: accessCookie, value: '', options: { ...shared, path: '/', maxAge: 0 } },
    { name: refreshCookie, value: '', options: { ...shared, path: authPath, maxAge: 0 } },
  ];
}

export function browserCookieWith(value: string, maxAgeSeconds: number): Cookie {
  return { name: browserCookie, value, options: { ...shared, path: `${authPath}/google`, maxAge: maxAgeSeconds } };
}
