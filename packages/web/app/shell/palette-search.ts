import type { Backup } from '@holdfast/contract';
import type { HoldfastError, Page } from '@holdfast/contract/client';
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { keyOf } from '../api/calls.ts';
import { clientFor } from '../api/client.ts';
import { newestAmong, newestInput } from '../api/newest-backup.ts';
import { useWorkplace } from '../api/organization.tsx';
import type { Project } from './palette-entry.ts';

/** How many projects are searched while typing; the others on request, because each is a call. */
const projectsAtFirst = 8;
const callsAtOnce = 4;
const documentsMax = 8;

export interface FoundIn {
  readonly project: Project;
  readonly backup: Backup;
  readonly paths: readonly string[];
}

interface Sought {
  readonly collection: string;
  readonly prefix: string;
}

/** Concurrent calls; cancelled ones are not started. */
function takingTurns(most: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <Answer>(signal: AbortSignal, work: () => Promise<Answer>): Promise<Answer> => {
    if (running < most) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

const inTurn = takingTurns(callsAtOnce);

/** Documents with this path prefix, in the newest backup of every project. */
export function useFoundDocuments(projects: readonly Project[], { collection, prefix }: Sought, enabled: boolean) {
  const { organization } = useWorkplace();
  const queries = useQueryClient();
  const [isOfAll, setOfAll] = useState(false);
  const client = clientFor(organization.id);
  const searchable = projects.filter(({ statistics }) => statistics.backupCount > 0);
  const asked = isOfAll ? searchable : searchable.slice(0, projectsAtFirst);
  const answers = useQueries({
    queries: asked.map((project) => ({
      queryKey: [organization.id, 'palette', project.id, collection, prefix],
      enabled,
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        inTurn(signal, async (): Promise<FoundIn | null> => {
          const input = newestInput(project.id);
          const backups: Page<Backup[]> = await queries.fetchQuery({
            queryKey: keyOf(organization.id, 'listBackups', input),
            queryFn: () => client.listBackups(input),
          });
          const backup = newestAmong(backups.data);
          if (!backup) return null;
          const query = { collection, limit: documentsMax, ...(prefix ? { prefix } : {}) };
          const found = await client
            .listBackupDocuments({ params: { backupId: backup.id }, query, signal })
            .catch((error: HoldfastError) => {
              if (error.code === 'COLLECTION_NOT_FOUND') return null;
              throw error;
            });
          return found && { project, backup, paths: found.data.map(({ path }) => path) };
        }),
    })),
  });
  // In the order of the answers, so that no entry moves under the pointer; results stay while typing goes on.
  const known = useRef({ collection, found: new Map<string, FoundIn>() });
  if (known.current.collection !== collection) known.current = { collection, found: new Map() };
  const { found } = known.current;
  for (const [place, { data }] of answers.entries()) {
    const id = asked[place]?.id ?? '';
    if (data) found.set(id, data);
    if (data === null) found.delete(id);
  }
  return {
    found: enabled ? [...found.values()] : [],
    searched: answers.filter(({ isPending }) => !isPending).length,
    unread: answers.filter(({ isError }) => isError).length,
    searchable: searchable.length,
    left: searchable.length - asked.length,
    searchOn: () => setOfAll(true),
  };
}
