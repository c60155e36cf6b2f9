/** Why the database cannot do a request, in a sentence for the caller. The same call may succeed later. */
export interface DatabaseOutage {
  readonly sentence: string;
  readonly retryAfterSeconds: number;
}

/** A restarted PostgreSQL accepts calls again after a few seconds. */
const backSeconds = 5;
/** Somebody has to repair something first. */
const mendedSeconds = 30;

const again = 'Try again shortly.';
const away = passing(`The service cannot reach its database right now. ${again}`);
const restarting = passing(`The database of the service is starting, stopping or recovering right now. ${again}`);
const busy = passing(`The database of the service did not answer in time. ${again}`);
const readOnly = passing(
  `The database of the service can only be read right now, as after a failover, so nothing can be changed. ${again}`,
);
const crowded = passing(`The database of the service takes no more connections right now. ${again}`);
const full = lasting('The database of the service has no room on its disk. Its operator has to make room.');
const short = passing(`The database of the service is short of memory or of other resources right now. ${again}`);
const closed = lasting('The database of the service refuses its login, or is not there. Its operator has to look.');

function passing(sentence: string): DatabaseOutage {
  return { sentence, retryAfterSeconds: backSeconds };
}

function lasting(sentence: string): DatabaseOutage {
  return { sentence, retryAfterSeconds: mendedSeconds };
}

/** By the code of PostgreSQL or of the network. */
const outages = new Map<string, DatabaseOutage>([
  ...all(away, ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']),
  ...all(away, ['ENOTFOUND', 'EAI_AGAIN', '08000', '08001', '08003', '08004', '08006']),
  ...all(restarting, ['57P01', '57P02', '57P03']),
  ...all(busy, ['55P03', '57014', '25P03']),
  ...all(readOnly, ['25006']),
  ...all(crowded, ['53300']),
  ...all(full, ['53100']),
  ...all(short, ['53000', '53200', '53400', '58030']),
  ...all(closed, ['28000', '28P01', '3D000']),
]);

function all(outage: DatabaseOutage, codes: string[]): [string, DatabaseOutage][] {
  return codes.map((code) => [code, outage]);
}

/** The driver's own errors have no code. */
function saidByDriver(message: string): DatabaseOutage | undefined {
  if (/timeout exceeded when trying to connect/.test(message)) return busy;
  return /Connection terminated|not queryable|^timeout expired$/.test(message) ? away : undefined;
}

/** Undefined when the failure is not one of the database itself. */
export function outageOf(error: unknown): DatabaseOutage | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    // Something other than the database could not be reached.
    if (current.message === 'fetch failed') return undefined;
    const { code = '' } = current as NodeJS.ErrnoException;
    const outage = outages.get(code) ?? saidByDriver(current.message);
    if (outage) return outage;
  }
  return undefined;
}

/** A connection with this error is of no more use: a new one may reach a server that accepts writes. */
export function isReadOnly(error: unknown): boolean {
  return outageOf(error) === readOnly;
}

export const readOnlySentence = readOnly.sentence;
