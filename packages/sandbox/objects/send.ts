import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FaultPlan } from './faults.ts';

/** An object's outgoing bytes, with the damage of the fault plan. */
export interface OutgoingBytes {
  size: number;
  chunks: AsyncIterable<Uint8Array>;
}

/** Resolves when the last byte was sent or the client went away; the response is finished either way. */
export async function sendBytes(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: OutgoingBytes,
  plan: FaultPlan,
): Promise<void> {
  const damageAt = Math.min(body.size - 1, Math.floor(plan.position * body.size));
  const stopAt = plan.truncate && body.size > 0 ? damageAt : body.size;
  const contentLength = plan.truncate === 'clean' ? stopAt : body.size;
  response.writeHead(status, { ...headers, 'content-length': String(contentLength) });
  let at = 0;
  for await (const chunk of body.chunks) {
    let part = chunk;
    if (plan.corruptRead && damageAt >= at && damageAt < at + part.length) part = flipped(part, damageAt - at);
    if (at + part.length > stopAt) part = part.subarray(0, stopAt - at);
    if (part.length > 0 && !response.write(part) && !(await drained(response))) return;
    at += part.length;
    if (at >= stopAt) break;
  }
  if (plan.truncate === 'broken') response.destroy();
  else response.end();
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at]! ^= 0x10;
  return copy;
}

async function drained(response: ServerResponse): Promise<boolean> {
  if (response.destroyed) return false;
  const closed = new AbortController();
  const onClose = () => closed.abort();
  response.once('close', onClose);
  try {
    await once(response, 'drain', { signal: closed.signal });
    return true;
  } catch {
    return false;
  } finally {
    response.off('close', onClose);
  }
}
