import { type AuthClient, gaxios, JWT, OAuth2Client, UserRefreshClient } from 'google-auth-library';
import type { GcsCredentials } from './credentials.ts';

const scopes = ['https://www.googleapis.com/auth/devstorage.full_control'];
/** How long a token from outside is used before it is asked for again. */
const outsideTokenMs = 60_000;

/** `tokenUrl` replaces Google's token address, for the sandbox. */
export function authClientOf(credentials: GcsCredentials, tokenUrl?: string): AuthClient {
  switch (credentials.type) {
    case 'service_account':
      return new JWT({
        email: credentials.clientEmail,
        key: credentials.privateKey,
        scopes: scopes,
        ...(tokenUrl !== undefined && { transporter: transporterTo(tokenUrl) }),
      });
    case 'authorized_user':
      return new UserRefreshClient({
        clientId: credentials.clientId,
        clientSecret: credentials.clientSecret,
        refreshToken: credentials.refreshToken,
        ...(tokenUrl !== undefined && { endpoints: { oauth2TokenUrl: tokenUrl } }),
      });
    case 'access_token': {
      const client = new OAuth2Client();
      client.refreshHandler = async () => ({
        access_token: await credentials.accessToken(),
        expiry_date: Date.now() + outsideTokenMs + client.eagerRefreshThresholdMillis,
      });
      return client;
    }
  }
}

function transporterTo(tokenUrl: string): gaxios.Gaxios {
  const transporter = new gaxios.Gaxios();
  transporter.interceptors.request.add({
    async resolved(config) {
      config.url = new URL(tokenUrl);
      return config;
    },
  });
  return transporter;
}
