/** Sends one batch until each of its writes is settled: done, skipped, or failed for good. */

import type { FirestoreClient } from '../client.ts';
import { methods } from '../protos.ts';
import { backoffMs, pause, throwIfAborted } from '../retry.ts';
import { GrpcError, grpcCode, grpcCodeName, mayPass } from '../transport/status.ts';
import type { Governor } from './governor.ts';
import type { Tally } from './tally.ts';
import type { WriteBatch } from './write-batch.ts';
import { readFailures, type WriteFailure } from './write-statuses.ts';

const requestTimeoutMs = 60_000;

export interface SendContext {
  readonly client: FirestoreClient;
  readonly governor: Governor;
  readonly tally: Tally;
  readonly skipExisting: boolean;
  readonly signal: AbortSignal;
}

/** Throws only what is fatal for the whole work. */
export async function sendBatch(context: SendContext, batch: WriteBatch): Promise<void> {
  const { client, governor, signal } = context;
  let open = batch;
  let failures = 0;
  let renewed = false;
  for (;;) {
    throwIfAborted(signal);
    try {
      const answer = await send(client, open, signal);
      const again = settle(context, open, readFailures(answer, open.count));
      if (again.length === 0) return;
      governor.pushedBack();
      failures = again.length < open.count ? 1 : failures + 1;
      if (failures >= client.retry.attemptsMax) {
        // Nothing at all gets through: that is an outage, and the work resumes later. A few that do not are failures.
        if (open === batch) throw exhausted(again);
        for (const { index, code, message } of again) context.tally.fail(open.path(index), grpcCodeName(code), message);
        return;
      }
      open = open.pick(again.map((failure) => failure.index));
    } catch (error) {
      if (error instanceof GrpcError && error.code === grpcCode.UNAUTHENTICATED && !renewed) {
        renewed = true;
        client.channel.invalidateCredentials();
        continue;
      }
      if (error instanceof GrpcError && error.code === grpcCode.INVALID_ARGUMENT) {
        await sendApart(context, open, error);
        return;
      }
      if (!mayPass(error)) throw error;
      governor.pushedBack();
      failures += 1;
      if (failures >= client.retry.attemptsMax) throw error;
    }
    await pause(backoffMs(client.retry, failures), signal);
    await governor.takeRate(open.count, signal);
  }
}

function send(client: FirestoreClient, batch: WriteBatch, signal: AbortSignal): Promise<Buffer> {
  const limits = { timeoutMs: requestTimeoutMs, signal };
  return client.channel.unaryFramed(methods.batchWrite, client.routing('database'), batch.framed(), limits);
}

/** Counts what is decided and answers what is worth another attempt. */
function settle(context: SendContext, batch: WriteBatch, failures: readonly WriteFailure[]): WriteFailure[] {
  const { tally, skipExisting, client } = context;
  const again: WriteFailure[] = [];
  if (failures.length < batch.count) context.governor.succeeded();
  const failed = new Map(failures.map((failure) => [failure.index, failure]));
  const deletes = batch.hasDeletes;
  for (let index = 0; index < batch.count; index += 1) {
    const failure = failed.size === 0 ? undefined : failed.get(index);
    if (failure === undefined) {
      if (deletes && batch.isDelete(index)) {
        tally.deleted += 1;
        client.usage.documentsDeleted += 1;
      } else {
        tally.written += 1;
        client.usage.documentsWritten += 1;
      }
    } else if (skipExisting && failure.code === grpcCode.ALREADY_EXISTS) tally.skipped += 1;
    else if (mayPass(new GrpcError(failure.code, failure.message))) again.push(failure);
    else tally.fail(batch.path(index), grpcCodeName(failure.code), failure.message);
  }
  return again;
}

/** Firestore refuses the whole request for one bad write; halving finds it and lets the others through. */
async function sendApart(context: SendContext, batch: WriteBatch, error: GrpcError): Promise<void> {
  if (batch.count === 1) {
    context.tally.fail(batch.path(0), grpcCodeName(error.code), error.message);
    return;
  }
  const indices = Array.from({ length: batch.count }, (_, index) => index);
  const middle = batch.count >> 1;
  await sendBatch(context, batch.pick(indices.slice(0, middle)));
  await sendBatch(context, batch.pick(indices.slice(middle)));
}

function exhausted(failures: readonly WriteFailure[]): GrpcError {
  const { code, message } = failures[0]!;
  return new GrpcError(code, `${failures.length} writes were refused again and again: ${message}`);
}
