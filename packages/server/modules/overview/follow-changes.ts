import { PassThrough, type Readable } from 'node:stream';
import { type DataOf, type Operations, operations } from '@holdfast/contract';
import type { Change } from '../../platform/changes.ts';
import { minuteMs, secondMs } from '../../platform/durations.ts';
import type { OrganizationAccess, Principal } from '../../platform/principal.ts';
import { hasRight, type OrganizationRight } from '../../platform/rights.ts';
import type { OverviewContext } from './context.ts';

const heartbeatMs = 10 * secondMs;
/** The stream ends after this time. The follower reconnects and is authenticated again. */
const lifeMs = 5 * minuteMs;
/** The stream ends when this much is unread: the follower reconnects and reads everything again. */
const unreadBytesMax = 256 * 1024;
const gatherMs = 200;

/** Who may read a kind of thing gets its changes. */
const readers: Readonly<Record<string, { access: OrganizationRight } | undefined>> = {
  organization: operations.getOrganization,
  member: operations.listMembers,
  invitation: operations.listInvitations,
  service_account: operations.getServiceAccount,
  project: operations.getProject,
  storage_destination: operations.getStorageDestination,
  storage_task: operations.getStorageTask,
  backup: operations.getBackup,
  restore: operations.getRestore,
  drill: operations.listAllDrills,
  schedule: operations.getSchedule,
  pitr: operations.getPitr,
  webhook: operations.getWebhook,
  delivery: operations.listDeliveries,
};
/** After changes of these kinds the caller may have other rights, or none. */
const accessKinds = new Set(['organization', 'member', 'service_account']);

interface Follower {
  organization: OrganizationAccess;
  principal: Principal;
}

/**
 * One server-sent event per changed thing; several changes within a moment are one event. The stream ends when the
 * rights of its reader have changed, soon after the session has ended, and after a while in any case.
 */
export async function followChanges(
  { platform: { changes, clock }, isSessionOpen }: OverviewContext,
  follower: Follower,
  signal: AbortSignal,
): Promise<Readable> {
  const { organization, principal } = follower;
  const stream = new PassThrough({ highWaterMark: unreadBytesMax });
  let waiting = new Map<string, Change>();
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const end = () => {
    stop?.();
    clearInterval(heartbeat);
    clearTimeout(life);
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    stream.end();
  };
  const send = () => {
    timer = undefined;
    const changes = [...waiting.values()];
    waiting = new Map();
    for (const change of changes) stream.write(asEvent(change, clock.now()));
    if (stream.writableLength > unreadBytesMax) end();
  };
  const beat = async () => {
    const isOpen = principal.kind !== 'person' || (await isSessionOpen(principal.sessionId).catch(() => true));
    if (!isOpen) end();
    else if (!stream.writableEnded) stream.write(': still there\n\n');
  };
  const heartbeat = setInterval(() => void beat(), heartbeatMs);
  const life = setTimeout(end, lifeMs);
  signal.addEventListener('abort', end);
  stream.on('close', end);
  stream.write(': following\n\n');
  // The first change may arrive before `follow` has returned how to stop.
  const hear = (change: Change) => {
    if (stream.writableEnded) return;
    const isSeen = mayHear(change, follower);
    if (accessKinds.has(change.kind)) {
      if (isSeen) stream.write(asEvent(change, clock.now()));
      return end();
    }
    if (!isSeen) return;
    const key = `${change.kind} ${change.id}`;
    const before = waiting.get(key);
    // Created and updated within a moment is created; deleted is deleted.
    waiting.set(key, before?.change === 'created' && change.change === 'updated' ? before : change);
    timer ??= setTimeout(send, gatherMs);
  };
  stop = await changes.follow(organization.id, hear).catch((error: unknown) => {
    end();
    throw error;
  });
  if (signal.aborted || stream.writableEnded) end();
  return stream;
}

function mayHear({ kind }: Change, follower: Follower): boolean {
  const reader = readers[kind];
  return reader !== undefined && hasRight(reader.access, follower);
}

function asEvent({ kind, id, change, projectId }: Change, now: Date): string {
  const data = { kind, id, change, projectId, at: now.toISOString() } as DataOf<Operations['streamOrganizationEvents']>;
  return `event: change\ndata: ${JSON.stringify(data)}\n\n`;
}
