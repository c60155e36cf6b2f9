/** Detects that a read time is too old by the database's own clock and not by its message. */

import { EngineError, type Instant, instantToParts, type ReadOptions, toWholeMinute } from '../../ports/index.ts';
import type { FirestoreClient } from './client.ts';
import { databaseInfo, snapshotTime } from './database-info.ts';
import { sourceFailure, sourceFailureNotOfAge } from './failures.ts';
import { GrpcError, grpcCode, grpcCodeName } from './transport/status.ts';

const hourSeconds = 3600;
const daySeconds = 24 * hourSeconds;
/** A time this close to the limit counts as too old, because clocks differ and requests take a moment. */
const slackSeconds = 60;
const codesAboutTime: readonly number[] = [
  grpcCode.FAILED_PRECONDITION,
  grpcCode.INVALID_ARGUMENT,
  grpcCode.OUT_OF_RANGE,
];

export async function readFailure(client: FirestoreClient, error: unknown, options: ReadOptions): Promise<unknown> {
  if (!(error instanceof GrpcError) || !codesAboutTime.includes(error.code)) return sourceFailure(error);
  const isLost = await isOutOfReach(client, options).catch(() => undefined);
  if (isLost === undefined) return sourceFailure(error);
  if (!isLost) return sourceFailureNotOfAge(error);
  const details = { grpcCode: grpcCodeName(error.code), readTime: options.readTime };
  return new EngineError('SNAPSHOT_TOO_OLD', error.message, { details, cause: error });
}

async function isOutOfReach(client: FirestoreClient, { readTime, signal }: ReadOptions): Promise<boolean> {
  const call = signal === undefined ? {} : { signal };
  const [now, info] = await Promise.all([snapshotTime(client, call), databaseInfo(client, call)]);
  const isMinute = readTime === toWholeMinute(readTime);
  const reachSeconds = info.pointInTimeRecovery && isMinute ? 7 * daySeconds : hourSeconds;
  return ageSeconds(now, readTime) > reachSeconds - slackSeconds;
}

function ageSeconds(now: Instant, then: Instant): number {
  return instantToParts(now).seconds - instantToParts(then).seconds;
}
