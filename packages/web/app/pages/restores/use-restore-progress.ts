import type { DataOf, Operations, Restore, RestorePhase } from '@holdfast/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { keyOf } from '../../api/calls.ts';
import { clientFor } from '../../api/client.ts';
import { useLive } from '../../api/live.ts';
import { useWorkplace } from '../../api/organization.tsx';
import { isRunning } from './shared.tsx';

export interface PhaseTime {
  readonly startedMs: number;
  readonly endedMs?: number;
}

export interface Sample {
  readonly atMs: number;
  readonly documents: number;
}

/** Follows a restore. Times per phase are known only for those this page has seen. */
export function useRestoreProgress(restore: Restore | undefined) {
  const { organization } = useWorkplace();
  const queries = useQueryClient();
  const [phases, setPhases] = useState<PhaseTimes>({});
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const last = useRef<RestorePhase | null>(null);
  const [firstMs, setFirstMs] = useState<number>();
  const live = useLive(restore && isRunning(restore) ? restore.id : null, {
    open: (signal) =>
      clientFor(organization.id).streamRestoreEvents({ params: { restoreJobId: restore?.id ?? '' }, signal }),
    onItem: ({ id, status, phase, progress, documentsRestored, error }) => {
      const now = Date.now();
      setFirstMs((known) => known ?? now);
      if (last.current !== phase) {
        const before = last.current;
        last.current = phase;
        setPhases((old) => {
          const ended = before && old[before] ? { [before]: { ...old[before], endedMs: now } } : {};
          // The first phase was already running when the page opened.
          return before === null ? old : { ...old, ...ended, [phase]: { startedMs: now } };
        });
      }
      setSamples((old) => [...old.slice(-240), { atMs: now, documents: progress.documents }]);
      queries.setQueryData<DataOf<Operations['getRestore']>>(
        keyOf(organization.id, 'getRestore', { params: { restoreJobId: id } }),
        (old) =>
          old && {
            ...old,
            status,
            phase,
            documentsRestored,
            error,
            progress: { ...progress, percent: Math.max(old.progress.percent, progress.percent) },
          },
      );
      const isOver = status !== 'running' && status !== 'pending';
      if (isOver) void queries.invalidateQueries({ queryKey: [organization.id] });
      return !isOver;
    },
  });
  // A phase cannot begin before the restore: the browser's clock is behind.
  const startedMs = Date.parse(restore?.startedAt ?? restore?.createdAt ?? '');
  const behindMs = firstMs === undefined || Number.isNaN(startedMs) ? 0 : Math.max(0, startedMs - firstMs);
  return { phases: laterBy(phases, behindMs), samples: laterSamples(samples, behindMs), awaySince: live.awaySince };
}

type PhaseTimes = Partial<Record<RestorePhase, PhaseTime>>;

function laterBy(times: PhaseTimes, ms: number): PhaseTimes {
  if (ms === 0) return times;
  return Object.fromEntries(
    Object.entries(times).map(([phase, { startedMs, endedMs }]) => [
      phase,
      { startedMs: startedMs + ms, ...(endedMs === undefined ? {} : { endedMs: endedMs + ms }) },
    ]),
  );
}

const laterSamples = (samples: readonly Sample[], ms: number): readonly Sample[] =>
  ms === 0 ? samples : samples.map(({ atMs, documents }) => ({ atMs: atMs + ms, documents }));
