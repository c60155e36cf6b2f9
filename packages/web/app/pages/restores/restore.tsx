import type { Restore } from '@holdfast/contract';
import { CircleCheck, CirclePause } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { announce } from '../../components/announcer.tsx';
import { Button, LinkButton, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Id } from '../../components/copy.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { ProgressBar } from '../../components/progress.tsx';
import { FormProblem, Problem } from '../../components/states.tsx';
import { JobBadge } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { formatDuration } from '../../format/numbers.ts';
import { formatClock, formatDateTime } from '../../format/times.ts';
import type { RestoreStart } from '../../paths.ts';
import { PageFrame, PageSkeleton, ProblemPage } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useParam, usePaths } from '../../url.ts';
import { momentOf } from '../backups/shared.tsx';
import { Phases } from './phases.tsx';
import { PreviewCounts } from './preview-counts.tsx';
import { RestoredDocument, RestoredWhat } from './restored-documents.tsx';
import { isRunning, useProjectNames, whatIn, whatOf } from './shared.tsx';
import { UndoPanel } from './undo-panel.tsx';
import { useRestoreProgress } from './use-restore-progress.ts';
import { WritesChart } from './writes-chart.tsx';

export function Page() {
  const restoreJobId = useParam('restoreId');
  const restore = useRead('getRestore', { params: { restoreJobId } });
  if (restore.error && !restore.data)
    return <ProblemPage error={restore.error} onRetry={() => void restore.refetch()} from="restores" />;
  // State of one restore must not carry over to another.
  return restore.data?.id === restoreJobId ? <Shown key={restoreJobId} restore={restore.data} /> : <PageSkeleton />;
}

function titleOf(restore: Restore, undone: Restore | undefined, target: string): string {
  if (restore.undoOf)
    return t.restore.undoTitles[restore.dryRun ? 'dry' : restore.status](undone && whatIn(undone), target);
  const what = whatIn(restore);
  if (restore.dryRun) return t.restore.dry(what, target);
  if (restore.status === 'completed') return t.restore.done(what, target);
  if (restore.status === 'failed') return t.restore.failed(what, target);
  return restore.status === 'cancelled' ? t.restore.stopped(what, target) : t.restore.running(what, target);
}

function Shown({ restore }: { restore: Restore }) {
  const paths = usePaths();
  const zone = useZone();
  const nameOf = useProjectNames();
  const { phases, samples, awaySince } = useRestoreProgress(restore);
  const undone = useRead(
    'getRestore',
    { params: { restoreJobId: restore.undoOf ?? '' } },
    { enabled: restore.undoOf !== null, everyMs: false },
  ).data;
  const title = titleOf(restore, undone, nameOf(restore.targetProjectId));
  const running = isRunning(restore);
  const wasRunning = useRef(running);
  useEffect(() => {
    if (wasRunning.current && !running) announce(title);
    wasRunning.current = running;
  }, [running, title]);
  const { percent, etaSeconds, waitingFor } = restore.progress;
  return (
    <PageFrame
      title={title}
      crumbs={[{ label: t.restores.title, to: paths.restores }, { label: title }]}
      badge={<JobBadge status={restore.status} />}
      subtitle={outcomeOf(restore)}
      actions={<Actions restore={restore} />}
    >
      {running && (
        <div className="flex flex-col gap-2">
          <p className="text-ink2">
            <b className="mr-2 font-semibold text-ink">{percent} %</b>
            {awaySince === null ? (
              <>
                {etaSeconds === null ? waitingFor : leftWords(etaSeconds)} {t.restore.close}
              </>
            ) : (
              t.common.reconnecting(formatClock(awaySince, zone))
            )}
          </p>
          <ProgressBar percent={percent} label={title} tall />
        </div>
      )}
      {restore.error && <Ended restore={restore} error={restore.error} />}
      <div className="grid items-start gap-5 lg:grid-cols-[1fr_350px]">
        <div className="flex min-w-0 flex-col gap-5">
          {restore.dryRun && restore.preview && <PreviewCounts preview={restore.preview} />}
          <Phases restore={restore} times={phases} />
        </div>
        <div className="flex min-w-0 flex-col gap-4 max-lg:contents">
          <div className="empty:hidden max-lg:order-first">{!restore.dryRun && <UndoPanel restore={restore} />}</div>
          {running && !restore.dryRun && <WritesChart samples={samples} />}
          {!restore.dryRun && !isRefusedWhole(restore) && <FailuresPanel restore={restore} />}
          <FactsPanel restore={restore} undone={undone} nameOf={nameOf} />
        </div>
      </div>
    </PageFrame>
  );
}

/** The outcome of a finished restore. */
function outcomeOf({ status, dryRun, documentsRestored, documentsDeleted, duration }: Restore): string | undefined {
  if (status !== 'completed' || dryRun || duration === null) return undefined;
  return t.restore.outcome(t.restore.written(documentsRestored, documentsDeleted), formatDuration(duration * 1000));
}

/** A link to the document, if exactly one was restored. */
function broughtBack({ status, dryRun, undoOf, items, documentIds }: Restore): string | undefined {
  const paths = items?.map(({ path }) => path) ?? documentIds ?? [];
  return status === 'completed' && !dryRun && undoOf === null && paths.length === 1 ? paths[0] : undefined;
}

const leftWords = (etaSeconds: number) =>
  etaSeconds < 2 ? t.restore.leftSoon : t.restore.left(formatDuration(etaSeconds * 1000));

/** A restore stopped by hand is not an error. */
function Ended({ restore, error }: { restore: Restore; error: NonNullable<Restore['error']> }) {
  const zone = useZone();
  if (restore.status !== 'cancelled' || restore.stoppedBy === null)
    return (
      <Panel tone={restore.status === 'cancelled' ? 'risk' : 'fail'} flush>
        <Problem error={error} />
      </Panel>
    );
  const at = restore.completedAt ? formatDateTime(restore.completedAt, zone) : '';
  return (
    <Panel tone="bg">
      <p className="flex items-start gap-3 text-table">
        <CirclePause size={18} aria-hidden className="mt-0.5 shrink-0 text-ink2" />
        <span>
          <b className="block font-semibold">{t.restore.stoppedBy(restore.stoppedBy, at)}</b>
          <span className="text-ink2">{t.restore.stoppedText}</span>
        </span>
      </p>
    </Panel>
  );
}

/** The restore as a whole failed; there are no failures of single documents. */
const isRefusedWhole = (restore: Restore) =>
  restore.status === 'failed' && restore.errors.count === 0 && restore.conflicts === 0;

function FailuresPanel({ restore }: { restore: Restore }) {
  const { count, sample } = restore.errors;
  const isWhole = restore.status === 'completed' && restore.conflicts === 0;
  const hint = isRunning(restore) ? t.restore.failuresHint : isWhole && t.restore.failuresOver;
  return (
    <Panel
      title={t.restore.failures}
      aside={
        count === 0 && (
          <span className="inline-flex items-center gap-1.5 text-held">
            <CircleCheck size={14} aria-hidden /> {t.restore.failuresNone}
          </span>
        )
      }
    >
      {count === 0 ? (
        hint && <p className="text-table text-ink2">{hint}</p>
      ) : (
        <ul className="flex flex-col gap-2 text-table">
          {sample.map((failure) => (
            <li key={failure.path}>
              <code className="block break-all font-mono text-meta">
                <RestoredDocument projectId={restore.targetProjectId} path={failure.path} />
              </code>
              <code className="font-mono text-meta text-fail">{failure.code}</code>{' '}
              <span className="text-ink2">{failure.message}</span>
            </li>
          ))}
          {count > sample.length && <li className="text-ink3">{t.restore.andMore(count - sample.length)}</li>}
        </ul>
      )}
      {restore.conflicts > 0 && (
        <div className="mt-2 text-table">
          <p className="text-risk">{t.restore.conflicts(restore.conflicts, restore.dryRun)}</p>
          <ul>
            {restore.conflictSample.map((path) => (
              <li key={path}>
                <code className="break-all font-mono text-meta">
                  <RestoredDocument projectId={restore.targetProjectId} path={path} />
                </code>
              </li>
            ))}
            {restore.conflicts > restore.conflictSample.length && (
              <li className="text-ink3">{t.restore.andMore(restore.conflicts - restore.conflictSample.length)}</li>
            )}
          </ul>
        </div>
      )}
    </Panel>
  );
}

interface FactsProps {
  restore: Restore;
  undone: Restore | undefined;
  nameOf: (id: string) => string;
}

function FactsPanel({ restore, undone, nameOf }: FactsProps) {
  const paths = usePaths();
  const { facts } = t.restore;
  const isUndo = restore.undoOf !== null;
  return (
    <Panel>
      <Facts
        rows={[
          restore.undoOf !== null && [
            facts.undoes,
            <TextLink key="u" to={paths.restore(restore.undoOf)}>
              {undone ? whatOf(undone) : t.restores.aRestore}
            </TextLink>,
          ],
          !isUndo && [facts.from, <From key="f" restore={restore} name={nameOf(restore.projectId)} />],
          [facts.into, nameOf(restore.targetProjectId)],
          !isUndo && [
            facts.which,
            <span key="w" className="break-all">
              <RestoredWhat restore={restore} />
            </span>,
          ],
          !isUndo && [
            facts.how,
            [t.restore.modes[restore.mergeMode], restore.deleteExtra && t.restore.removing].filter(Boolean).join(', '),
          ],
          [facts.started, <Time key="s" at={restore.startedAt ?? restore.createdAt} />],
          restore.startedBy !== null && [facts.startedBy, restore.startedBy],
          restore.duration !== null && [facts.took, formatDuration(restore.duration * 1000)],
          [facts.job, <Id key="j" id={restore.id} />],
        ]}
      />
    </Panel>
  );
}

/** The source project and time, with a link to the backup. */
function From({ restore, name }: { restore: Restore; name: string }) {
  const zone = useZone();
  const paths = usePaths();
  const { backupId, pointInTime } = restore;
  const backup = useRead(
    'getBackup',
    { params: { backupId: backupId ?? '' } },
    { enabled: backupId !== null, everyMs: false },
  ).data;
  return (
    <>
      {name}
      {pointInTime && (
        <>
          , <Time at={pointInTime} />
        </>
      )}
      {backupId && (
        <>
          {', '}
          <TextLink to={paths.backup(backupId)}>
            {backup ? formatDateTime(momentOf(backup), zone) : t.restores.aBackup}
          </TextLink>
        </>
      )}
    </>
  );
}

/** Whether the form of a new restore can express everything this dry run did. */
function canBeDone({ dryRun, undoOf, status, backupId, items, ...tried }: Restore): boolean {
  const isWhole = tried.includeSubcollections || tried.documentIds !== null;
  const isAsked = isWhole && (tried.rewriteReferences || tried.targetProjectId === tried.projectId);
  return dryRun && undoOf === null && status === 'completed' && backupId !== null && items === null && isAsked;
}

/** The plan of this dry run, with the safety backup on. */
function startOf(restore: Restore): RestoreStart {
  const { backupId, collections, documentIds, mergeMode, targetProjectId } = restore;
  return {
    backupId: backupId ?? undefined,
    collections: collections?.[0] === '*' ? undefined : collections?.join('\n'),
    ...(documentIds?.length === 1 ? { document: documentIds[0] } : { documents: documentIds?.join('\n') }),
    below: documentIds && restore.includeSubcollections ? '1' : undefined,
    target: targetProjectId === restore.projectId ? undefined : targetProjectId,
    mode: mergeMode === 'overwrite' ? undefined : mergeMode,
    extra: restore.deleteExtra ? '1' : undefined,
    users: restore.includeAuthUsers ? '1' : '0',
  };
}

function Actions({ restore }: { restore: Restore }) {
  const canRun = useCan('member');
  const paths = usePaths();
  const [isAsking, setAsking] = useState(false);
  const params = { restoreJobId: restore.id };
  const cancel = useAct('cancelRestore', { onDone: () => setAsking(false) });
  const resume = useAct('resumeRestore');
  const document = broughtBack(restore);
  const see = document !== undefined && (
    <LinkButton to={paths.document(restore.targetProjectId, document)}>{t.restore.seeDocument}</LinkButton>
  );
  if (!canRun) return see;
  const canResume = restore.status === 'failed' || restore.status === 'cancelled';
  return (
    <>
      <FormProblem error={resume.error} />
      {see}
      {isRunning(restore) && <Button onClick={() => setAsking(true)}>{t.restore.stop}</Button>}
      {canResume && !restore.dryRun && (
        <Button
          kind="primary"
          busy={resume.isPending}
          title={t.restore.resumeHint}
          onClick={() => resume.mutate({ params })}
        >
          {t.restore.resume}
        </Button>
      )}
      {canBeDone(restore) && (
        <LinkButton kind="primary" to={paths.newRestore(startOf(restore))}>
          {t.restore.restoreNow}
        </LinkButton>
      )}
      {isAsking && (
        <Confirm
          title={t.restore.stopTitle}
          action={t.restore.stop}
          cancel={t.restore.letRun}
          busy={cancel.isPending}
          error={cancel.error}
          onClose={() => setAsking(false)}
          onConfirm={() => cancel.mutate({ params })}
        >
          <p>{t.restore.stopText}</p>
        </Confirm>
      )}
    </>
  );
}
