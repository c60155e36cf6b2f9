import type { Backup } from '@holdfast/contract';
import type { HoldfastError, Page } from '@holdfast/contract/client';
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { keyOf } from '../api/calls.ts';
import { clientFor } from '../api/client.ts';
import { newestAmong, newestInput } from '../api/newest-backup.ts';
import { useWorkplace } from '../api/organization.tsx';
import type { Project } from './palette-entry.ts';

/** So many projects are asked as somebody types, the others when that is wished: each is a call of its own. */
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

/** So many at once; what nobody waits for any more is not begun. */
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

/** Documents whose path begins so, in the newest backup of every project that has one. */
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
  // In the order in which they answered, so that nothing moves away under the finger; what was found stays while more is typed.
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
