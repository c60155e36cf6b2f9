/** Sends one batch until every write is settled: done, skipped, left as a conflict, or failed for good. */

import { noteResumed, noteWaiting, type Version } from '../../../ports/index.ts';
import { minuteMs } from '../../../time/durations.ts';
import { targetFailure } from '../failures.ts';
import { methods } from '../protos.ts';
import { backoffMs, pause, throwIfAborted } from '../retry.ts';
import { GrpcError, grpcCode, isTransient } from '../transport/status.ts';
import { isMismatch, leavesExisting, resolveMismatches, withoutWritten } from './mismatches.ts';
import { fail, type SendContext, skip, succeed } from './outcomes.ts';
import { requestBytesMax, type WriteBatch } from './write-batch.ts';
import { readFailures, readVersions, type WriteFailure } from './write-statuses.ts';

const requestTimeoutMs = minuteMs;

/** The mask was cut off: it would write a part of the document and call it whole. */
const tooLarge = new GrpcError(
  grpcCode.INVALID_ARGUMENT,
  'the names of all fields that a merge would write are more than a request to Firestore holds (10 MiB); restore this document with overwrite',
);

/** Throws only errors that are fatal for the whole work. */
export async function sendBatch(context: SendContext, batch: WriteBatch): Promise<void> {
  const { client, governor, signal } = context;
  if (context.isInquiry) return await inquire(context, batch);
  if (context.mode === 'merge' && batch.bytes > requestBytesMax) return await sendApart(context, batch, tooLarge);
  let open = batch;
  let failures = 0;
  let renewed = false;
  /** The number of accepted requests when this one was last refused. */
  let accepted = governor.accepted;
  for (;;) {
    await context.guard?.beforeSend?.();
    throwIfAborted(signal);
    const answer = await send(context, open).catch(refusedRequest);
    if (answer instanceof GrpcError) {
      if (answer.code === grpcCode.UNAUTHENTICATED && !renewed) {
        renewed = true;
        client.channel.invalidateCredentials();
        continue;
      }
      if (answer.code === grpcCode.INVALID_ARGUMENT) return await sendApart(context, open, answer);
      if (!isTransient(answer)) throw answer;
      context.mayBeRepeated = true;
      governor.pushedBack();
      failures += 1;
      if (failures >= client.retry.attemptsMax) {
        if (isContention(answer)) return await sendApart(context, open, answer);
        throw answer;
      }
      noteWaiting(targetFailure(answer));
    } else {
      const { again, mismatches } = settle(context, open, answer.refused, answer.versions);
      if (mismatches.length > 0) {
        const over = await resolveMismatches(context, open, mismatches);
        if (over !== undefined) await sendBatch(context, over);
      }
      if (again.length === 0) return;
      context.reportAhead();
      governor.pushedBack();
      failures = again.length < open.count ? 1 : failures + 1;
      if (failures >= client.retry.attemptsMax) {
        return await giveUp(context, open, again, { isOutage: governor.accepted === accepted });
      }
      accepted = governor.accepted;
      // When other writers change the same documents, the work does not wait for the database.
      if (again.length === open.count && !again.every(isContention)) noteWaiting(targetFailure(refusalOf(again)));
      open = open.pick(again.map((failure) => failure.index));
    }
    await pause(backoffMs(client.retry, failures), signal);
    await governor.takeRate(open.count, signal);
  }
}

/** Reads the documents to see what an earlier run wrote; only certain ones are counted as written. */
async function inquire(context: SendContext, batch: WriteBatch): Promise<void> {
  const indices = Array.from({ length: batch.count }, (_, index) => index);
  await resolveMismatches(context, batch, indices);
}

interface Answer {
  readonly refused: readonly WriteFailure[];
  readonly versions: readonly (Version | null)[];
}

async function send(context: SendContext, batch: WriteBatch): Promise<Answer> {
  const { client, guard, giveUp, isUnsure: wasUnsure } = context;
  const limits = { timeoutMs: requestTimeoutMs, signal: giveUp };
  context.isUnsure = true;
  try {
    const { channel } = client;
    const answer = await channel.unaryFramed(methods.batchWrite, client.routing('database'), batch.framed(), limits);
    const refused = readFailures(answer, batch.count);
    context.isUnsure = wasUnsure;
    return { refused, versions: guard === undefined ? [] : readVersions(answer) };
  } catch (error) {
    if (isRefusal(error)) context.isUnsure = wasUnsure;
    throw error;
  }
}

function refusedRequest(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  throw error;
}

/** The whole request was refused: nothing of it is written. */
function isRefusal(error: unknown): boolean {
  return error instanceof GrpcError && !isTransient(error) && error.code !== grpcCode.DATA_LOSS;
}

interface Settled {
  /** Worth another attempt. */
  readonly again: WriteFailure[];
  /** Found another version than expected. */
  readonly mismatches: number[];
}

/** Counts what is decided. */
function settle(
  context: SendContext,
  batch: WriteBatch,
  failures: readonly WriteFailure[],
  versions: readonly (Version | null)[],
): Settled {
  const settled: Settled = { again: [], mismatches: [] };
  if (failures.length < batch.count) {
    context.governor.succeeded();
    noteResumed();
  }
  const failed = new Map(failures.map((failure) => [failure.index, failure]));
  for (let index = 0; index < batch.count; index += 1) {
    const failure = failed.size === 0 ? undefined : failed.get(index);
    if (failure === undefined) succeed(context, batch, index, versions[index] ?? null);
    else if (isMismatch(context, batch, index, failure.code)) {
      const isDecided = leavesExisting(context, batch, index) && !(context.guard && context.mayBeRepeated);
      if (isDecided) skip(context, batch, index);
      else settled.mismatches.push(index);
    } else if (isTransient(new GrpcError(failure.code, failure.message))) settled.again.push(failure);
    else fail(context, batch, index, failure.code, failure.message);
  }
  if (settled.again.some(({ code }) => !refusedCodes.has(code))) {
    context.mayBeRepeated = true;
    context.isUnsure = true;
  }
  return settled;
}

/** For a single write, these codes say that it was not done. Other transient codes leave that unknown. */
const refusedCodes: ReadonlySet<number> = new Set([grpcCode.ABORTED, grpcCode.RESOURCE_EXHAUSTED]);

/**
 * Gives up. Documents that are there all the same were written by an attempt whose answer was lost. When nothing is
 * accepted from anybody, it is an outage, and the work resumes later. A few refused writes are failures, and so are
 * documents that others change all the time.
 */
async function giveUp(
  context: SendContext,
  batch: WriteBatch,
  refused: readonly WriteFailure[],
  { isOutage }: { isOutage: boolean },
): Promise<void> {
  const left = context.mayBeRepeated ? await withoutWritten(context, batch, refused) : refused;
  const turnedAway = left.filter((failure) => !isContention(failure));
  if (isOutage && turnedAway.length > 0) throw refusalOf(turnedAway, ' again and again');
  for (const { index, code, message } of left) fail(context, batch, index, code, message);
}

function isContention({ code }: { code: number }): boolean {
  return code === grpcCode.ABORTED;
}

/**
 * The whole request is refused because of one bad write, or one that conflicts with others. Halving it finds that write
 * and lets the others through.
 */
async function sendApart(context: SendContext, batch: WriteBatch, { code, message }: GrpcError): Promise<void> {
  if (batch.count === 1) {
    if (code === grpcCode.ABORTED)
      return await giveUp(context, batch, [{ index: 0, code, message }], { isOutage: false });
    fail(context, batch, 0, code, message);
    return;
  }
  const indices = Array.from({ length: batch.count }, (_, index) => index);
  const middle = batch.count >> 1;
  await sendBatch(context, batch.pick(indices.slice(0, middle)));
  await sendBatch(context, batch.pick(indices.slice(middle)));
}

function refusalOf(failures: readonly WriteFailure[], how = ''): GrpcError {
  const { code, message } = failures[0]!;
  return new GrpcError(code, `${failures.length} writes were refused${how}: ${message}`);
}
