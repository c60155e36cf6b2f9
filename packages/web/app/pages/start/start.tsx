import type { Backup } from '@holdfast/contract';
import { Lock, SquareTerminal, Timer, Undo2 } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useAct, useAll, useRead } from '../../api/calls.ts';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { Mark } from '../../components/brand.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { FormProblem, Problem } from '../../components/states.tsx';
import { Step } from '../../components/steps.tsx';
import { formatAboutMoney, formatBytes, formatCount, formatDuration } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { RunningBackup } from '../backups/running-backup.tsx';
import { isOver } from '../backups/shared.tsx';
import { ConnectForm, type Project } from '../projects/connect-form.tsx';
import { StorageForm } from '../storage/storage-form.tsx';
import { KeepItSo } from './keep-it-so.tsx';
import { Sample } from './sample.tsx';

/** Connect, store, back up: what is done stays done, wherever one comes back to it. */
export function Page() {
  const { organization, me } = useWorkplace();
  const paths = usePaths();
  const projects = useAll('listProjects', {});
  const destinations = useAll('listStorageDestinations', {});
  const [addsStorage, setAddsStorage] = useState(false);
  const canStore = useCan('admin');
  const project = projects.rows?.[0];
  const destination = destinations.rows?.find(({ status }) => status === 'connected');
  useEffect(() => {
    document.title = `${t.start.title} · ${t.common.product}`;
  }, []);
  const error = projects.error ?? destinations.error;
  const isStored = destination !== undefined && !addsStorage;
  return (
    <div className="min-h-dvh">
      <header className="flex h-14 items-center gap-3 border-line border-b bg-bg px-8 max-md:px-4">
        <Mark size={24} />
        <span className="text-body font-semibold">{t.common.product}</span>
        <span className="min-w-0 truncate text-table text-ink2">{organization.name}</span>
        <span className="ml-auto text-table text-ink2 max-md:hidden">{t.signIn.signedInAs(me.email)}</span>
        <LinkButton kind="quiet" to={paths.overview} className="max-md:ml-auto">
          {t.start.later}
        </LinkButton>
      </header>
      <main className="mx-auto grid max-w-[1130px] grid-cols-1 gap-12 px-6 py-10 max-md:px-4 lg:grid-cols-[minmax(0,1fr)_340px]">
        <div>
          <h1 className="text-verdict font-semibold">{t.start.heading}</h1>
          <p className="mt-1 mb-8 text-ink2">{t.start.intro}</p>
          {error && <Problem error={error} />}
          <ol className="flex flex-col gap-0">
            <Step number={1} state={project ? 'done' : 'current'} className="pb-7">
              {project ? (
                <Connected project={project} />
              ) : (
                <Section title={t.start.connectTitle}>
                  <ConnectForm onDone={() => undefined} />
                </Section>
              )}
            </Step>
            <Step number={2} state={!project ? 'todo' : isStored ? 'done' : 'current'} className="pb-7">
              {isStored ? (
                <Section title={t.start.storageDone(destination.name)} hint={t.storage.types[destination.type]} />
              ) : (
                <Section title={t.start.storageTitle} hint={t.start.storageHint}>
                  {project &&
                    (canStore ? (
                      <StorageForm submitLabel={t.start.goOn} onDone={() => setAddsStorage(false)} />
                    ) : (
                      <p className="text-table text-ink2">{t.start.needsAdmin}</p>
                    ))}
                </Section>
              )}
            </Step>
            <FirstBackup project={project} destinationId={isStored ? destination.id : undefined} />
          </ol>
        </div>
        <Aside />
      </main>
    </div>
  );
}

function Section({ title, hint, children }: { title: string; hint?: string; children?: ReactNode }) {
  return (
    <section>
      <h2 className="text-section font-semibold">{title}</h2>
      {hint && <p className="text-table text-ink2">{hint}</p>}
      {children && <div className="mt-4">{children}</div>}
    </section>
  );
}

function Connected({ project }: { project: Project }) {
  const tree = useAll('listProjectCollections', { params: { projectId: project.id } }, { everyMs: false });
  const documents = tree.rows?.reduce((sum, node) => sum + countOf(node), 0);
  return (
    <Section title={t.start.connected(project.name)}>
      <p className="text-table text-ink2">
        <code className="font-mono">{project.sourceProjectId}</code> ·{' '}
        <code className="font-mono">{project.databaseId}</code>, {t.projects.through[project.connection.type]}
      </p>
      {tree.rows && documents !== undefined && (
        <p className="text-table text-ink2">{t.start.counted(documents, tree.rows.length)}</p>
      )}
    </Section>
  );
}

interface CountedNode {
  documentCount: number;
  collections: CountedNode[];
}
const countOf = (node: CountedNode): number =>
  node.documentCount + node.collections.reduce((sum, below) => sum + countOf(below), 0);

function FirstBackup({ project, destinationId }: { project: Project | undefined; destinationId: string | undefined }) {
  const isReady = project !== undefined && destinationId !== undefined;
  const backups = useAll('listBackups', { query: { projectId: project?.id ?? '' } }, { enabled: isReady });
  const create = useAct('createBackup');
  const newest = backups.rows?.find(({ trigger }) => trigger !== 'pre_restore');
  const state = !isReady
    ? 'todo'
    : newest?.status === 'completed'
      ? 'done'
      : newest && !isOver(newest)
        ? 'running'
        : 'current';
  return (
    <Step number={3} state={state} isLast>
      <Section
        title={newest?.status === 'completed' ? t.start.doneTitle : t.start.backupTitle}
        {...(newest?.status === 'completed' ? { hint: t.start.doneText } : {})}
      >
        {isReady && !newest && (
          <div className="flex flex-col items-start gap-3">
            <Estimate projectId={project.id} />
            <Button
              kind="primary"
              busy={create.isPending}
              onClick={() => create.mutate({ body: { projectId: project.id, storageDestinationId: destinationId } })}
            >
              {t.start.run}
            </Button>
          </div>
        )}
        {isReady && newest && (
          <Outcome
            backup={newest}
            projectName={project.name}
            onAgain={() => create.mutate({ body: { projectId: project.id, storageDestinationId: destinationId } })}
          />
        )}
        <FormProblem error={create.error} />
      </Section>
    </Step>
  );
}

function Outcome({ backup, projectName, onAgain }: { backup: Backup; projectName: string; onAgain: () => void }) {
  if (!isOver(backup)) return <RunningBackup backup={backup} projectName={projectName} />;
  if (backup.status !== 'completed')
    return (
      <>
        {backup.error && <Problem error={backup.error} />}
        <Button kind="primary" onClick={onAgain}>
          {t.start.run}
        </Button>
      </>
    );
  return <KeepItSo projectId={backup.projectId} backupId={backup.id} />;
}

function Estimate({ projectId }: { projectId: string }) {
  const cost = useRead('estimateProjectCost', { params: { projectId } }, { everyMs: false });
  if (!cost.data) return <p className="text-table text-ink2">{t.start.backupHint}</p>;
  const { full } = cost.data;
  return (
    <p className="text-table text-ink2">
      {t.start.estimate(
        formatCount(full.reads),
        formatAboutMoney(full.cost),
        formatDuration(full.durationSeconds * 1000),
        formatBytes(full.bytes),
      )}
    </p>
  );
}

function Aside() {
  const icons = [Timer, Lock, Undo2, SquareTerminal];
  return (
    <aside className="flex flex-col gap-6">
      <Sample />
      <section>
        <h2 className="mb-3 text-table font-semibold">{t.start.relyTitle}</h2>
        <ul className="flex flex-col gap-4">
          {t.start.rely.map(([title, text], index) => {
            const Icon = icons[index] ?? Timer;
            return (
              <li key={title} className="flex gap-3">
                <Icon size={17} aria-hidden className="mt-0.5 shrink-0 text-held" />
                <span>
                  <span className="block text-table font-medium">{title}</span>
                  <span className="text-table text-ink2">{text}</span>
                </span>
              </li>
            );
          })}
        </ul>
      </section>
    </aside>
  );
}
