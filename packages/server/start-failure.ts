import { type Config, ConfigurationError } from './config.ts';
import { DataFolderInUse } from './platform/database/embedded-postgres.ts';
import { StartFailure } from './platform/start-failure.ts';

type SystemError = NodeJS.ErrnoException & { address?: string; port?: number; hostname?: string };

/** How a failed start is reported: a sentence for what an operator can repair, all details for unexpected errors. */
export function describeStartFailure(error: unknown, config: Config | undefined): string {
  if (error instanceof ConfigurationError || error instanceof DataFolderInUse || error instanceof StartFailure)
    return error.message;
  const sentence = config === undefined ? undefined : sentenceOf(innermost(error), config);
  return sentence ?? (error instanceof Error ? (error.stack ?? error.message) : String(error));
}

function sentenceOf(error: SystemError, config: Config): string | undefined {
  if (error.syscall === 'listen' || error.syscall === 'bind' || isNameToListenOn(error, config))
    return listenSentence(error, config);
  if (config.DATABASE_URL) {
    const sentence = databaseSentence(error, config.DATABASE_APP_URL ?? config.DATABASE_URL);
    if (sentence !== undefined) return sentence;
  }
  if (error.path !== undefined && error.code !== undefined)
    return folderSentence(config.HOLDFAST_DATA, error.code, error.path);
  return undefined;
}

/** HOST and the database's host are looked up in the same way; the error says which one failed. */
function isNameToListenOn({ syscall, hostname }: SystemError, { HOST, DATABASE_URL }: Config): boolean {
  if (syscall !== 'getaddrinfo' || hostname !== HOST) return false;
  return DATABASE_URL === undefined || new URL(DATABASE_URL).hostname !== HOST;
}

function listenSentence({ code }: SystemError, { HOST, PORT }: Config): string {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'is in use by another program. Stop it, or set PORT to another one.',
    EACCES: 'may not be used by this user. Set PORT to one above 1023, or let a proxy listen there.',
    EADDRNOTAVAIL: 'cannot be used: this machine has no such address. Set HOST to one that it has.',
    ENOTFOUND: 'cannot be used: the name in HOST is not known.',
    EAI_AGAIN: 'cannot be used: the name in HOST is not known, or nobody answers who knows it.',
  };
  return `Port ${PORT} on ${HOST} ${reasons[code ?? ''] ?? `cannot be used (${code}).`}`;
}

const passwordCodes = new Set(['28P01', '28000']);
const awayCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

/** The database shuts down, has crashed, or is starting; or the network failed. */
const cutCodes = new Set(['57P01', '57P02', '57P03', 'ECONNRESET', 'EPIPE']);

/** The address without its password. */
function databaseSentence({ code, message }: SystemError, address: string): string | undefined {
  const { username, host, pathname } = new URL(address);
  const place = `The database at ${host}`;
  if (passwordCodes.has(code ?? '')) {
    const named = decodeURIComponent(username);
    // The service also logs in as its own role.
    const refused = /(?:user|role) "([^"]+)"/.exec(message)?.[1] ?? named;
    return refused === named
      ? `${place} refused ${named}: check the user and the password in DATABASE_URL.`
      : `${place} refused ${refused}, the login that the service made for itself: ${message}. Start again; if it stays, drop that role and start again.`;
  }
  if (code === '3D000') return `${place} has no database ${pathname.slice(1)}: create it, or correct DATABASE_URL.`;
  if (awayCodes.has(code ?? '') || /timeout expired|terminated due to connection timeout/.test(message))
    return `${place} cannot be reached (${code ?? 'it does not answer'}): check DATABASE_URL and that the server runs.`;
  if (cutCodes.has(code ?? '') || /Connection terminated|not queryable/.test(message))
    return `${place} ended the connection while the service started (${code ?? 'it shut down or was cut off'}): start again when it is back.`;
  if (code === '42501')
    return `${place} refused what the start needs: ${message}. See docs/operations.md for its roles.`;
  return undefined;
}

export function folderSentence(folder: string, code: string | undefined, path = folder): string {
  const reasons: Readonly<Record<string, string>> = {
    EACCES: 'this user may not write there',
    EPERM: 'this user may not write there',
    EROFS: 'the file system is read-only',
    ENOTDIR: 'a part of the path is no folder',
    EEXIST: 'it is no folder',
    ENOSPC: 'the disk is full',
    EDQUOT: 'there is no room left for this user',
    EFBIG: 'this user may not write files there',
  };
  const reason = reasons[code ?? ''] ?? `it cannot be made or written (${code})`;
  const at = path === folder ? '' : ` (at ${path})`;
  return `The data folder ${folder} cannot be used: ${reason}${at}. Set HOLDFAST_DATA to a folder that can be written.`;
}

/** All addresses of a name fail together; the first error is enough. */
function innermost(error: unknown): SystemError {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0];
  return error instanceof Error ? error : new Error(String(error));
}
