import { PassThrough, type Readable } from 'node:stream';
import type { DataOf, Operations } from '@holdfast/contract';
import type { Change } from '../../platform/changes.ts';
import { minuteMs, secondMs } from '../../platform/durations.ts';
import type { Platform } from '../../platform/platform.ts';
import type { OrganizationAccess } from '../../platform/principal.ts';

const heartbeatMs = 15 * secondMs;
/** Who follows comes back after this, and is asked anew who they are: a session may have ended meanwhile. */
const lifeMs = 5 * minuteMs;
/** What nobody has read by then is not kept: the stream ends, and who comes back looks at everything again. */
const unreadBytesMax = 256 * 1024;
const gatherMs = 200;

/** Managing the team is for admins and owners, and so is seeing who is invited. */
const adminKinds = new Set(['invitation', 'service_account']);
/** After these the caller may be somebody else, or nobody any more. */
const accessKinds = new Set(['organization', 'member', 'service_account']);

/**
 * One server-sent event for each thing that changed; what changes many times within a moment is told once. The stream ends
 * when who may see what has changed, and after a while in any case.
 */
export async function followChanges(
  { changes, clock }: Platform,
  organization: OrganizationAccess,
  maySeeTeam: boolean,
  signal: AbortSignal,
): Promise<Readable> {
  const stream = new PassThrough({ highWaterMark: unreadBytesMax });
  let waiting = new Map<string, Change>();
  let timer: NodeJS.Timeout | undefined;
  const send = () => {
    timer = undefined;
    const told = [...waiting.values()];
    waiting = new Map();
    for (const change of told) stream.write(asEvent(change, clock.now()));
    if (stream.writableLength > unreadBytesMax) end();
  };
  const stop = await changes.follow(organization.id, (change) => {
    const isSeen = maySeeTeam || !adminKinds.has(change.kind);
    if (accessKinds.has(change.kind)) {
      if (isSeen) stream.write(asEvent(change, clock.now()));
      return end();
    }
    if (!isSeen) return;
    const key = `${change.kind} ${change.id}`;
    const before = waiting.get(key);
    // Made and changed in one moment is made; deleted is deleted.
    waiting.set(key, before?.change === 'created' && change.change === 'updated' ? before : change);
    timer ??= setTimeout(send, gatherMs);
  });
  const heartbeat = setInterval(() => stream.write(': still there\n\n'), heartbeatMs);
  const life = setTimeout(() => end(), lifeMs);
  const end = () => {
    stop();
    clearInterval(heartbeat);
    clearTimeout(life);
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    stream.end();
  };
  signal.addEventListener('abort', end);
  stream.on('close', end);
  stream.write(': following\n\n');
  if (signal.aborted) end();
  return stream;
}

function asEvent({ kind, id, change, projectId }: Change, now: Date): string {
  const data = { kind, id, change, projectId, at: now.toISOString() } as DataOf<Operations['streamOrganizationEvents']>;
  return `event: change\ndata: ${JSON.stringify(data)}\n\n`;
}
