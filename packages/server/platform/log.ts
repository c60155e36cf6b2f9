import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Names of fields whose values never reach a log line, wherever in the logged object they stand (up to three levels deep). */
const secretFields = [
  'authorization',
  'cookie',
  'password',
  'passphrase',
  'secret',
  'token',
  'accessToken',
  'refreshToken',
  'idToken',
  'apiKey',
  'credentials',
  'secretAccessKey',
  'privateKey',
  'private_key',
  'key',
  'code',
  'codeVerifier',
  'clientSecret',
  'connectionString',
];

const paths = secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`, `req.headers["${field}"]`]);

export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    redact: { paths: [...paths, 'req.headers["set-cookie"]'], censor: '[redacted]' },
    base: null,
  };
  return destination ? pino(options, destination) : pino(options);
}
