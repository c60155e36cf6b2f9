/** What the database says about itself, and whether it can be reached. */

import {
  EngineError,
  type Instant,
  instantFromDate,
  instantFromParts,
  isEngineError,
  type SourceCallOptions,
  toMicroseconds,
  toWholeMillisecond,
  toWholeMinute,
} from '../../ports/index.ts';
import { hourMs } from '../../time/durations.ts';
import { FirestoreClient } from './client.ts';
import { sourceFailure } from './failures.ts';
import { messages, methods } from './protos.ts';
import { structuredQuery } from './scan/query.ts';
import { GrpcError, grpcCode } from './transport/status.ts';

const probeTimeoutMs = 15_000;
const probeAttemptsMax = 3;
/** A clock that stands still never reaches the next millisecond. */
const looksMax = 10;

export interface DatabaseInfo {
  readonly database: string;
  readonly locationId: string | undefined;
  readonly pointInTimeRecovery: boolean;
  /** False for databases without real-time updates: nobody can listen to those. */
  readonly realtimeUpdates: boolean;
  /** The earliest readable time; it advances with the clock. */
  readonly earliestReadTime: Instant;
}

/** The time of the database's own clock, from a read that costs at most one document. */
export async function snapshotTime(client: FirestoreClient, options: SourceCallOptions = {}): Promise<Instant> {
  const query = structuredQuery(client, { collection: null, start: null, end: null }, { namesOnly: true, limit: 1 });
  const request = messages.runQueryRequest.encode({ parent: client.root, structuredQuery: query });
  try {
    const answers = await client.collect(methods.runQuery, client.routing('parent'), request, options);
    client.usage.documentsRead += 1;
    for (const bytes of answers) {
      const { readTime } = messages.runQueryResponse.decode(bytes) as { readTime?: Timestamp };
      if (readTime !== undefined) return toMicroseconds(toInstant(readTime));
    }
    throw new GrpcError(grpcCode.INTERNAL, 'the database did not say at which time it read');
  } catch (error) {
    throw sourceFailure(error);
  }
}

/**
 * With point-in-time recovery, whole minutes stay readable for days, and any other instant for an hour. Otherwise a
 * whole millisecond is used, because most tools write times like that. It is not before now, so that nothing that was
 * just written is missed.
 */
export async function lastingSnapshotTime(client: FirestoreClient, options: SourceCallOptions): Promise<Instant> {
  const [now, info] = await Promise.all([snapshotTime(client, options), databaseInfo(client, options)]);
  const minute = toWholeMinute(now);
  if (info.pointInTimeRecovery && minute >= info.earliestReadTime) return minute;
  for (let later = now, looks = 1; looks <= looksMax; later = await snapshotTime(client, options), looks += 1) {
    const whole = toWholeMillisecond(later);
    if (whole >= now) return whole;
  }
  return now;
}

interface Timestamp {
  readonly seconds?: number;
  readonly nanos?: number;
}

function toInstant(timestamp: Timestamp): Instant {
  return instantFromParts(timestamp.seconds ?? 0, timestamp.nanos ?? 0);
}

export async function databaseInfo(client: FirestoreClient, options: SourceCallOptions = {}): Promise<DatabaseInfo> {
  const request = messages.getDatabaseRequest.encode({ name: client.database });
  try {
    const routing = client.routing('name');
    const bytes = await client.unary(methods.getDatabase, routing, request, options.signal, probeTimeoutMs);
    const database = messages.database.decode(bytes) as {
      locationId?: string;
      pointInTimeRecoveryEnablement?: string;
      realtimeUpdatesMode?: string;
      earliestVersionTime?: Timestamp;
    };
    return {
      database: client.database,
      locationId: database.locationId,
      pointInTimeRecovery: database.pointInTimeRecoveryEnablement === 'POINT_IN_TIME_RECOVERY_ENABLED',
      realtimeUpdates: database.realtimeUpdatesMode !== 'REALTIME_UPDATES_MODE_DISABLED',
      earliestReadTime:
        database.earliestVersionTime === undefined ? anHourAgo() : toInstant(database.earliestVersionTime),
    };
  } catch (error) {
    // Google's emulator has no admin API, and a data role may not include it. Every database keeps one hour.
    if (
      error instanceof GrpcError &&
      [grpcCode.UNIMPLEMENTED, grpcCode.PERMISSION_DENIED].some((c) => c === error.code)
    ) {
      await snapshotTime(client, options);
      return {
        database: client.database,
        locationId: undefined,
        pointInTimeRecovery: false,
        realtimeUpdates: true,
        earliestReadTime: anHourAgo(),
      };
    }
    throw sourceFailure(error);
  }
}

function anHourAgo(): Instant {
  return instantFromDate(new Date(Date.now() - hourMs));
}

export type ProbeResult =
  | { readonly status: 'ok'; readonly info: DatabaseInfo }
  | { readonly status: 'unauthorized' | 'not_found' | 'unavailable'; readonly error: EngineError };

/** Distinguishes problems with different solutions: the credentials, the ids, or a temporary outage. */
export async function probe(client: FirestoreClient, options: SourceCallOptions = {}): Promise<ProbeResult> {
  // A user waits for the answer, so only a few attempts are made.
  const retry = { ...client.retry, attemptsMax: Math.min(probeAttemptsMax, client.retry.attemptsMax) };
  const impatient = new FirestoreClient({ channel: client.channel, database: client.database, retry });
  try {
    const info = await databaseInfo(impatient, options);
    await snapshotTime(impatient, options);
    return { status: 'ok', info };
  } catch (error) {
    if (isEngineError(error, 'SOURCE_AUTH_ERROR')) return { status: 'unauthorized', error };
    if (isEngineError(error, 'SOURCE_NOT_FOUND')) return { status: 'not_found', error };
    if (error instanceof EngineError && error.code !== 'CANCELLED') return { status: 'unavailable', error };
    throw error;
  }
}
