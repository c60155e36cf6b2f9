import type { Backup } from '@holdfast/contract';
import { Lock, SquareTerminal, Timer, Undo2 } from 'lucide-react';
import { type ReactNode, useEffect, useId, useState } from 'react';
import { useAct, useAll, useRead } from '../../api/calls.ts';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { Mark } from '../../components/brand.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { FormProblem, NoPermission, Problem } from '../../components/states.tsx';
import { Step } from '../../components/steps.tsx';
import { formatAboutMoney, formatBytes, formatCount, formatDuration } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';
import { RunningBackup } from '../backups/running-backup.tsx';
import { isOver } from '../backups/shared.tsx';
import { ConnectForm, type Project } from '../projects/connect-form.tsx';
import { StorageForm } from '../storage/storage-form.tsx';
import { AfterFirstBackup } from './after-first-backup.tsx';
import { Sample } from './sample.tsx';

/** First run: connect, store, back up. Finished steps stay finished after a reload. */
export function Page() {
  const projects = useAll('listProjects', {});
  const destinations = useAll('listStorageDestinations', {});
  const [search, setSearch] = useSearch();
  const [changes, setChanges] = useState<'project' | 'storage'>();
  const canStore = useCan('admin');
  const canConnect = useCan('member');
  const project = projects.rows?.find(({ id }) => id === search.project) ?? projects.rows?.[0];
  const working = destinations.rows?.filter(({ status }) => status === 'connected') ?? [];
  const destination = working.find(({ id }) => id === search.storage) ?? working[0];
  useEffect(() => {
    document.title = `${t.start.title} · ${t.common.product}`;
  }, []);
  const error = projects.error ?? destinations.error;
  const isConnected = project?.connection.status === 'connected' && changes !== 'project';
  const isStored = destination !== undefined && changes !== 'storage';
  const choose = (chosen: { project?: string; storage?: string }) => {
    setChanges(undefined);
    // An existing project replaces the form and its input.
    void setSearch(chosen, { replace: true, evenUnsaved: true });
  };
  if (!canConnect)
    return (
      <div className="min-h-dvh">
        <Header />
        <main>
          <h1 className="sr-only">{t.start.title}</h1>
          <NoPermission title={t.common.onlyReads}>{t.common.whoMay}</NoPermission>
        </main>
      </div>
    );
  return (
    <div className="min-h-dvh">
      <Header />
      <main className="mx-auto grid max-w-[1130px] grid-cols-1 gap-12 px-6 py-10 max-md:px-4 lg:grid-cols-[minmax(0,1fr)_340px]">
        <div>
          <h1 className="text-verdict font-semibold">{t.start.heading}</h1>
          <p className="mt-1 mb-8 text-ink2">{t.start.intro}</p>
          {error && <Problem error={error} />}
          <ol className="flex flex-col gap-0">
            <Step
              number={1}
              state={isConnected ? 'done' : project && changes !== 'project' ? 'failed' : 'current'}
              className="pb-7"
            >
              {project && changes !== 'project' ? (
                <Connected project={project} onChange={() => setChanges('project')} />
              ) : (
                <Section title={t.start.connectTitle}>
                  <Known
                    label={t.start.knownProjects}
                    of={projects.rows ?? []}
                    current={project?.id}
                    onChoose={(id) => choose({ project: id })}
                  />
                  <ConnectForm onDone={({ id }) => choose({ project: id })} />
                </Section>
              )}
            </Step>
            <Step number={2} state={!project ? 'todo' : isStored ? 'done' : 'current'} className="pb-7">
              {isStored ? (
                <Section
                  title={t.start.storageDone(destination.name)}
                  hint={destination.name !== t.storage.types[destination.type] && t.storage.types[destination.type]}
                  onChange={canStore || working.length > 1 ? () => setChanges('storage') : undefined}
                />
              ) : (
                <Section title={t.start.storageTitle} hint={t.start.storageHint}>
                  <Known
                    label={t.start.knownStorage}
                    of={working}
                    current={destination?.id}
                    onChoose={(id) => choose({ storage: id })}
                  />
                  {project &&
                    (canStore ? (
                      <StorageForm submitLabel={t.start.goOn} onDone={({ id }) => choose({ storage: id })} />
                    ) : (
                      <p className="text-table text-ink2">{t.start.needsAdmin}</p>
                    ))}
                </Section>
              )}
            </Step>
            <FirstBackup
              project={isConnected ? project : undefined}
              destinationId={isStored ? destination.id : undefined}
            />
          </ol>
        </div>
        <Aside />
      </main>
    </div>
  );
}

function Header() {
  const { organization, me } = useWorkplace();
  const paths = usePaths();
  return (
    <header className="flex h-14 items-center gap-3 border-line border-b bg-bg px-8 max-md:px-4">
      <Mark size={24} />
      <span className="text-body font-semibold">{t.common.product}</span>
      <span className="min-w-0 truncate text-table text-ink2">{organization.name}</span>
      <span className="ml-auto text-table text-ink2 max-md:hidden">{t.signIn.signedInAs(me.email)}</span>
      <LinkButton kind="quiet" to={paths.overview} className="max-md:ml-auto">
        {t.start.later}
      </LinkButton>
    </header>
  );
}

interface SectionProps {
  title: string;
  hint?: ReactNode;
  /** Finished steps can be changed. */
  onChange?: (() => void) | undefined;
  children?: ReactNode;
}

function Section({ title, hint, onChange, children }: SectionProps) {
  return (
    <section>
      <div className="flex items-baseline justify-between gap-3">
        <h2 className="text-section font-semibold">{title}</h2>
        {onChange && (
          <button
            type="button"
            onClick={onChange}
            aria-label={`${t.common.change}: ${title}`}
            className="touch shrink-0 text-table font-medium text-held hover:underline"
          >
            {t.common.change}
          </button>
        )}
      </div>
      {hint && <p className="text-table text-ink2">{hint}</p>}
      {children && <div className="mt-4">{children}</div>}
    </section>
  );
}

interface KnownProps {
  label: string;
  of: readonly { id: string; name: string }[];
  current: string | undefined;
  onChoose: (id: string) => void;
}

/** Existing ones to choose instead of a new one. */
function Known({ label, of, current, onChoose }: KnownProps) {
  const id = useId();
  if (of.length === 0) return null;
  return (
    <div className="mb-5">
      <h3 id={id} className="mb-2 text-table font-medium">
        {label}
      </h3>
      <ul aria-labelledby={id} className="flex flex-wrap gap-2">
        {of.map((one) => (
          <li key={one.id}>
            <Button aria-pressed={one.id === current} onClick={() => onChoose(one.id)}>
              {one.name}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Connected({ project, onChange }: { project: Project; onChange: () => void }) {
  const { status, error } = project.connection;
  const isConnected = status === 'connected';
  const paths = usePaths();
  const tree = useAll(
    'listProjectCollections',
    { params: { projectId: project.id } },
    { enabled: isConnected, everyMs: false },
  );
  const documents = tree.rows?.reduce((sum, node) => sum + countOf(node), 0);
  return (
    <Section
      title={isConnected ? t.start.connected(project.name) : t.start.notConnected(project.name)}
      onChange={onChange}
      hint={
        <>
          <code className="font-mono">{project.sourceProjectId}</code> ·{' '}
          <code className="font-mono">{project.databaseId}</code>, {t.projects.through[project.connection.type]}
          {isConnected && tree.rows && documents !== undefined && (
            <span className="block">{t.start.counted(documents, tree.rows.length)}</span>
          )}
        </>
      }
    >
      {!isConnected && error && (
        <div className="-mx-5 max-md:-mr-4">
          <Problem
            error={error}
            action={
              <LinkButton kind="primary" to={paths.project(project.id)}>
                {t.overview.reconnect(project.name)}
              </LinkButton>
            }
          />
        </div>
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
        {backup.error && (
          <div className="-mx-5 max-md:-mr-4">
            <Problem error={backup.error} />
          </div>
        )}
        <Button kind="primary" onClick={onAgain}>
          {t.start.run}
        </Button>
      </>
    );
  return <AfterFirstBackup projectId={backup.projectId} backupId={backup.id} />;
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
