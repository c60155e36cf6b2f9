import { EngineError } from '../../ports/index.ts';

/** A service account's key file, a person's consent, or tokens that somebody else looks after. */
export type GcsCredentials =
  | { type: 'service_account'; clientEmail: string; privateKey: string; projectId?: string }
  | { type: 'authorized_user'; clientId: string; clientSecret: string; refreshToken: string }
  | { type: 'access_token'; accessToken: () => Promise<string> };

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
