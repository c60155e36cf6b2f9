import type { Backup } from '@holdfast/contract';
import { FolderSearch, GitCompare, Lock, RotateCcw, ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button, LinkButton, TextLink } from '../../components/button.tsx';
import { CopyButton, Id } from '../../components/copy.tsx';
import { MoreMenu } from '../../components/menu.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { FormProblem, Pending, Problem } from '../../components/states.tsx';
import { Badge, JobBadge } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes, formatCount, formatDuration } from '../../format/numbers.ts';
import { saveStream } from '../../format/save-file.ts';
import { formatDateTime } from '../../format/times.ts';
import { useKeys } from '../../shell/keys.ts';
import { PageFrame, PageSkeleton, ProblemPage } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useParam, usePaths } from '../../url.ts';
import { anomalyWords, lookAt } from '../overview/anomaly-bar.tsx';
import { useBackupActions } from './backup-actions.tsx';
import { ChainPanel } from './chain-panel.tsx';
import { CopiesPanel } from './copies-panel.tsx';
import { DeleteBackup } from './delete-backup.tsx';
import { DrillsPanel } from './drills-panel.tsx';
import { RunningBackup } from './running-backup.tsx';
import { isDamaged, isOver, isSafety, Kept, madeLater, momentOf, Proof } from './shared.tsx';

export function Page() {
  const backupId = useParam('backupId');
  const backup = useRead('getBackup', { params: { backupId } });
  if (backup.error && !backup.data)
    return <ProblemPage error={backup.error} onRetry={() => void backup.refetch()} from="backups" />;
  return backup.data ? <Shown key={backupId} backup={backup.data} /> : <PageSkeleton />;
}

function Shown({ backup }: { backup: Backup }) {
  const paths = usePaths();
  const zone = useZone();
  const project = useRead('getProject', { params: { projectId: backup.projectId } });
  const projectName = project.data?.name ?? '';
  const title = t.backups.at(formatDateTime(momentOf(backup), zone));
  const isWhole = backup.status === 'completed';
  const made = madeLater(backup);
  const canRun = useCan('member');
  const isRefused = backup.error?.code === 'SOURCE_AUTH_ERROR';
  const go = useGo();
  useKeys({
    r: isWhole && canRun ? () => go(paths.newRestore({ backupId: backup.id })) : undefined,
    c: isWhole ? () => go(paths.compare(backup.id)) : undefined,
  });
  return (
    <PageFrame
      title={title}
      crumbs={[
        { label: t.backups.title, to: paths.backups },
        { label: `${projectName} ${formatDateTime(momentOf(backup), zone)}`.trim() },
      ]}
      badge={
        <>
          <JobBadge status={backup.status} />
          {isDamaged(backup) && <Badge tone="fail">{t.backups.verifyFailed}</Badge>}
          {backup.legalHold && (
            <Badge tone="off" icon={Lock}>
              {t.backups.legalHold}
            </Badge>
          )}
        </>
      }
      subtitle={
        <>
          {t.backups.typesInWords[isSafety(backup) ? 'safety' : backup.type]} {projectName && t.backups.of(projectName)}{' '}
          · <StartedBy backup={backup} />
          {made && (
            <>
              {' · '}
              {made.word} <Time at={made.at} as="near" />
            </>
          )}
        </>
      }
      actions={<Actions backup={backup} />}
    >
      {!isOver(backup) && <RunningBackup backup={backup} projectName={projectName} />}
      {backup.error && (
        <Panel tone="fail" flush>
          <Problem
            error={backup.error}
            action={
              canRun && (
                <LinkButton
                  kind="primary"
                  to={isRefused ? paths.project(backup.projectId) : `${paths.backups}?new=${backup.projectId}`}
                >
                  {isRefused ? t.overview.reconnect(projectName) : t.backups.backUpNow}
                </LinkButton>
              )
            }
          />
        </Panel>
      )}
      {backup.anomaly && (
        <Panel tone="risk" title={t.backups.suspicious}>
          <p className="text-table text-ink2">{anomalyWords(backup.anomaly)}</p>
          {backup.anomaly.before && (
            <p className="mt-2 text-table">
              <TextLink to={lookAt(paths, { ...backup.anomaly, backupId: backup.id })}>{t.overview.haveALook}</TextLink>
            </p>
          )}
        </Panel>
      )}
      <div className="grid items-start gap-5 lg:grid-cols-[1fr_380px]">
        <div className="flex min-w-0 flex-col gap-5">
          {isWhole && <ChainPanel backup={backup} />}
          <CopiesPanel backup={backup} />
          {isWhole && <VerificationPanel backup={backup} />}
          {isWhole && <DrillsPanel backup={backup} />}
          {backup.warnings.length > 0 && (
            <Panel title={t.backups.warnings} tone="risk">
              <ul className="list-disc pl-5 text-table">
                {backup.warnings.map((warning) => (
                  <li key={JSON.stringify(warning)}>{warning.message}</li>
                ))}
              </ul>
            </Panel>
          )}
        </div>
        <FactsPanel backup={backup} projectName={projectName} isFormer={project.error?.code === 'PROJECT_NOT_FOUND'} />
      </div>
    </PageFrame>
  );
}

/** Its scope, including exclusions. */
function scopeWords({ collections, excludeCollections: without, includeSubcollections }: Backup): string {
  const all = without.length > 0 ? t.backups.allBut(without) : t.backups.allCollections;
  const named = collections.length === 1 && collections[0] === '*' ? all : collections.join(', ');
  return includeSubcollections ? named : t.backups.withoutSub(named);
}

interface FactsPanelProps {
  backup: Backup;
  projectName: string;
  /** Its project was deleted; the backup stays until its retention ends. */
  isFormer: boolean;
}

function FactsPanel({ backup, projectName, isFormer }: FactsPanelProps) {
  const { facts } = t.backups;
  const paths = usePaths();
  return (
    <Panel>
      <Facts
        rows={[
          [
            facts.project,
            isFormer ? (
              t.overview.formerProject
            ) : projectName ? (
              <TextLink key="p" to={paths.project(backup.projectId)}>
                {projectName}
              </TextLink>
            ) : (
              <Pending key="p" />
            ),
          ],
          backup.snapshotTime !== null && [facts.snapshot, <Time key="s" at={backup.snapshotTime} />],
          backup.snapshots.length > 1 && [facts.snapshot, t.backups.snapshots(backup.snapshots.length)],
          [facts.collections, scopeWords(backup)],
          [facts.users, backup.includeAuthUsers ? t.common.yes : t.common.no],
          backup.documentCount !== null && [facts.documents, formatCount(backup.documentCount)],
          backup.size !== null && [facts.size, formatBytes(backup.size)],
          backup.compressedSize !== null && [facts.stored, formatBytes(backup.compressedSize)],
          [facts.reads, formatCount(backup.readsUsed)],
          backup.duration !== null && [facts.took, formatDuration(backup.duration)],
          backup.startedAt !== null && [facts.started, <Time key="st" at={backup.startedAt} />],
          backup.completedAt !== null && [
            backup.status === 'completed' ? facts.completed : facts.ended,
            <Time key="co" at={backup.completedAt} />,
          ],
          backup.status === 'completed' && [facts.expires, <Kept key="k" backup={backup} />],
          backup.sha256 !== null && [facts.hash, <Hash key="h" hash={backup.sha256} />],
          [facts.id, <Id key="i" id={backup.id} />],
        ]}
      />
    </Panel>
  );
}

/** The name of the schedule, if it still exists. */
function StartedBy({ backup: { scheduleId, trigger } }: { backup: Backup }) {
  const paths = usePaths();
  const schedule = useRead(
    'getSchedule',
    { params: { scheduleId: scheduleId ?? '' } },
    { enabled: scheduleId !== null, everyMs: false },
  ).data;
  if (!schedule) return t.backups.triggers[trigger];
  return <TextLink to={paths.schedule(schedule.id)}>{schedule.name}</TextLink>;
}

function Hash({ hash }: { hash: string }) {
  return (
    <span className="inline-flex items-center gap-1">
      <code className="font-mono text-meta">
        {hash.slice(0, 8)} {hash.slice(8, 12)}…
      </code>
      <CopyButton text={hash} />
    </span>
  );
}

function VerificationPanel({ backup }: { backup: Backup }) {
  const { verification } = backup;
  const canRun = useCan('member');
  const verify = useAct('verifyBackup');
  return (
    <Panel
      title={t.backups.verification}
      flush
      aside={
        backup.verifiedAt ? (
          <Time at={backup.verifiedAt} as="age" />
        ) : (
          canRun &&
          verification?.status !== 'running' && (
            <Button
              icon={ShieldCheck}
              busy={verify.isPending}
              onClick={() => verify.mutate({ params: { backupId: backup.id } })}
            >
              {t.backups.verify}
            </Button>
          )
        )
      }
    >
      <div className="flex flex-col gap-2 px-4 py-3 text-table">
        <FormProblem error={verify.error} />
        <Proof backup={backup} />
        {verification?.status === 'passed' && (
          <p className="text-ink2">{t.backups.verificationPassed(verification.segments, verification.documents)}</p>
        )}
        {verification?.status === 'failed' && (
          <p>{isDamaged(backup) ? t.backups.notWholeAdvice : t.backups.notReadAdvice}</p>
        )}
        {verification?.errors.map(({ code, message, object }) => (
          <div key={`${code} ${object} ${message}`} className="border-line border-t pt-2">
            <p className="break-words text-ink2">{message}</p>
            <p className="break-all font-mono text-meta text-fail">{[code, object].filter(Boolean).join(' · ')}</p>
          </div>
        ))}
        {!verification && <p className="text-ink2">{t.backups.verifyHint}</p>}
      </div>
    </Panel>
  );
}

function Actions({ backup }: { backup: Backup }) {
  const paths = usePaths();
  const go = useGo();
  const canRun = useCan('member');
  const params = { backupId: backup.id };
  const [isAsking, setAsking] = useState(false);
  const { items, error } = useBackupActions(backup, () => setAsking(true));
  const drill = useAct('startDrill');
  const exported = useAct('exportBackup', { onDone: (stream) => saveStream(`${backup.id}.ndjson`, stream) });
  const isWhole = backup.status === 'completed';
  return (
    <>
      <FormProblem error={exported.error ?? error ?? drill.error} />
      {isWhole && (
        <>
          <LinkButton icon={FolderSearch} to={paths.browse(backup.id)}>
            {t.backups.browse}
          </LinkButton>
          <LinkButton icon={GitCompare} to={paths.compare(backup.id)}>
            {t.backups.compare}
          </LinkButton>
          {canRun && (
            <LinkButton
              kind={isDamaged(backup) ? 'secondary' : 'primary'}
              icon={RotateCcw}
              to={paths.newRestore({ backupId: backup.id })}
            >
              {t.backups.restore}
            </LinkButton>
          )}
        </>
      )}
      <MoreMenu
        label={t.common.moreActions}
        items={[
          items.verify,
          isWhole && canRun && { label: t.backups.drill, onSelect: () => drill.mutate({ params }) },
          isWhole && { label: t.backups.export, onSelect: () => exported.mutate({ params }) },
          items.hold,
          items.delete,
        ]}
      />
      {isAsking && (
        <DeleteBackup backup={backup} onClose={() => setAsking(false)} onDeleted={() => go(paths.backups)} />
      )}
    </>
  );
}
