import { type Bindings, type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { textLines } from './log-text.ts';
import { traceFields } from './tracing.ts';

export type { Logger } from 'pino';

/** Fields whose values never reach a log line, at any place in the logged object (up to three levels deep). */
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
  'codeVerifier',
  'clientSecret',
  'connectionString',
];

/** The code of a sign-in is secret; the code of an error is needed in a log. */
const signInCodes = ['query.code', 'body.code', '*.query.code', '*.body.code'];

const paths = [
  ...secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`, `req.headers["${field}"]`]),
  ...signInCodes,
];

/** Database errors carry their whole connection, including the key that cancels its statements. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { client, ...withoutConnection } = stdSerializers.err(error) as { client?: unknown };
  return withoutConnection;
}

export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    redact: { paths: [...paths, 'req.headers["set-cookie"]'], censor: '[redacted]' },
    base: null,
    mixin: traceFields,
    serializers: { err: describeError },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Lines for people on a terminal, JSON otherwise, unless `LOG_FORMAT` says otherwise. */
export function createProcessLogger(settings: { LOG_LEVEL: string; LOG_FORMAT?: 'json' | 'text' | undefined }): Logger {
  const format = settings.LOG_FORMAT ?? (process.stdout.isTTY ? 'text' : 'json');
  if (format === 'json') return createLogger(settings.LOG_LEVEL);
  return createLogger(
    settings.LOG_LEVEL,
    textLines((text) => process.stdout.write(text)),
  );
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** A child logger that is made on first use: most requests log nothing. */
export function lazyChild(parent: Logger, bindings: Bindings): Logger {
  let child: Logger | undefined;
  const made = (): Logger => {
    child ??= parent.child(bindings);
    return child;
  };
  const lazy = Object.create(parent) as Logger;
  for (const level of levels) {
    if (level !== 'silent' && !parent.isLevelEnabled(level)) continue;
    lazy[level] = ((...line: Parameters<Logger['info']>) => made()[level](...line)) as Logger['info'];
  }
  lazy.child = ((...options: Parameters<Logger['child']>) => made().child(...options)) as Logger['child'];
  return lazy;
}
