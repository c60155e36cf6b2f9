import type { OperationId, Operations } from '@holdfast/contract';
import type { HoldfastStream, Result } from '@holdfast/contract/client';
import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { clientFor } from './client.ts';
import { type LiveState, useLive } from './live.ts';
import { isShort, setFollowing } from './refetch-interval.ts';

type Change = Result<Operations['streamOrganizationEvents']> extends HoldfastStream<infer Item> ? Item : never;
type Kind = Change['kind'];

/** Which reads a change makes stale. */
const shownBy: Readonly<Record<Kind, readonly OperationId[]>> = {
  organization: ['getOrganization', 'listOrganizations', 'getSubscription', 'getEncryptionKey'],
  member: ['listMembers', 'listOrganizations', 'getMe'],
  invitation: ['listInvitations'],
  service_account: ['getServiceAccount'],
  project: ['listProjects', 'getProject', 'getOverview'],
  storage_destination: ['listStorageDestinations', 'getStorageDestination', 'getOverview'],
  storage_task: ['listStorageTasks', 'getStorageTask', 'getStorageDestination', 'listStorageProjects'],
  backup: [
    'listBackups',
    'getBackup',
    'listProjects',
    'getProject',
    'getOverview',
    'listStorageDestinations',
    'getStorageDestination',
    'listStorageProjects',
  ],
  restore: ['listRestores', 'getRestore'],
  drill: ['listDrills', 'listAllDrills', 'getOverview'],
  schedule: ['listSchedules', 'getSchedule', 'listScheduleRuns', 'previewRetention', 'getOverview'],
  pitr: ['getPitr', 'listProjects', 'getProject', 'getOverview'],
  webhook: ['listWebhooks', 'getWebhook'],
  delivery: ['listDeliveries', 'getDeliveryRequest', 'getWebhook'],
};

/** It shows counts of its contents, which change with them. */
const counting: readonly OperationId[] = ['getStorageDestination'];

/** Running jobs change every second; pages refetch every few. */
const restMs = 2500;
const gatherMs = 120;

/** Refetches what a change in the organization made stale. */
export function useOrganizationChanges(organizationId: string): LiveState {
  const queries = useQueryClient();
  const gathered = useRef<Gathering | null>(null);
  useEffect(() => {
    const gathering = new Gathering(queries, organizationId);
    gathered.current = gathering;
    return () => gathering.stop();
  }, [queries, organizationId]);
  return useLive(organizationId, {
    open: (signal) => clientFor(organizationId).streamOrganizationEvents({ signal }),
    onOpen: (isFirst) => {
      setFollowing(true);
      // Changes may have been missed since the stream broke, or between the first reads and its start.
      const isOld = (query: Query) => isShort(query) && (!isFirst || query.state.data !== undefined);
      void queries.invalidateQueries({ predicate: isOld });
    },
    onBreak: () => setFollowing(false),
    onItem: (change) => {
      gathered.current?.add(change);
      return true;
    },
  });
}

/** Refetches at once after the first change of a kind, then batches those that follow. */
class Gathering {
  readonly #queries: QueryClient;
  readonly #organizationId: string;
  readonly #waiting = new Map<Kind, Set<string>>();
  readonly #shownAtMs = new Map<Kind, number>();
  readonly #timers = new Map<Kind, ReturnType<typeof setTimeout>>();

  constructor(queries: QueryClient, organizationId: string) {
    this.#queries = queries;
    this.#organizationId = organizationId;
  }

  add({ kind, id, projectId }: Change): void {
    const ids = this.#waiting.get(kind) ?? new Set();
    ids.add(id);
    if (projectId) ids.add(projectId);
    this.#waiting.set(kind, ids);
    if (this.#timers.has(kind)) return;
    const restedMs = performance.now() - (this.#shownAtMs.get(kind) ?? -restMs);
    this.#timers.set(
      kind,
      setTimeout(() => this.#show(kind), Math.max(gatherMs, restMs - restedMs)),
    );
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #show(kind: Kind): void {
    const ids = this.#waiting.get(kind) ?? new Set();
    this.#timers.delete(kind);
    this.#waiting.delete(kind);
    this.#shownAtMs.set(kind, performance.now());
    void this.#queries.invalidateQueries({
      predicate: (query) => this.#isOld(query, kind, ids) && isShort(query),
    });
  }

  #isOld({ queryKey }: Query, kind: Kind, ids: ReadonlySet<string>): boolean {
    const [place, call, input] = queryKey as [string, OperationId, { params?: Record<string, string> }];
    if (place !== this.#organizationId && place !== 'person') return false;
    if (!shownBy[kind]?.includes(call)) return false;
    // A single record is refetched only if it is the one that changed.
    const isOfMany = call.startsWith('list') || (kind === 'backup' && counting.includes(call));
    return isOfMany || !input?.params || Object.values(input.params).some((id) => ids.has(id));
  }
}
