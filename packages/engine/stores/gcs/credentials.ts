import { type AuthClient, gaxios, JWT, OAuth2Client, UserRefreshClient } from 'google-auth-library';
import { EngineError } from '../../ports/index.ts';

/** A service account's key file, a person's consent, or tokens that somebody else looks after. */
export type GcsCredentials =
  | { type: 'service_account'; clientEmail: string; privateKey: string; projectId?: string }
  | { type: 'authorized_user'; clientId: string; clientSecret: string; refreshToken: string }
  | { type: 'access_token'; accessToken: () => Promise<string> };

const SCOPES = ['https://www.googleapis.com/auth/devstorage.full_control'];
/** How long a token from outside is used before it is asked for again. */
const OUTSIDE_TOKEN_MS = 60_000;

/**
 * Reads a key file. Only the fields that matter are taken: a key file can also name addresses to send credentials to,
 * and those must not be chosen by whoever uploads one.
 */
export function parseGcsKeyFile(value: unknown): GcsCredentials {
  const file = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const text = (name: string) => {
    const field = file[name];
    if (typeof field === 'string' && field !== '') return field;
    throw new EngineError('VALIDATION_ERROR', `The key file lacks ${name}.`);
  };
  switch (file.type) {
    case 'service_account': {
      const projectId = typeof file.project_id === 'string' ? { projectId: file.project_id } : {};
      return {
        type: 'service_account',
        clientEmail: text('client_email'),
        privateKey: text('private_key'),
        ...projectId,
      };
    }
    case 'authorized_user':
      return {
        type: 'authorized_user',
        clientId: text('client_id'),
        clientSecret: text('client_secret'),
        refreshToken: text('refresh_token'),
      };
    default:
      throw new EngineError('VALIDATION_ERROR', 'The key file must be of type service_account or authorized_user.');
  }
}

/** `tokenUrl` replaces Google's token address, for the sandbox. */
export function authClientOf(credentials: GcsCredentials, tokenUrl?: string): AuthClient {
  switch (credentials.type) {
    case 'service_account':
      return new JWT({
        email: credentials.clientEmail,
        key: credentials.privateKey,
        scopes: SCOPES,
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
        expiry_date: Date.now() + OUTSIDE_TOKEN_MS + client.eagerRefreshThresholdMillis,
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
