import { Archive, Unplug } from 'lucide-react';
import { useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button, LinkButton, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Id } from '../../components/copy.tsx';
import { Checkbox } from '../../components/field.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { Problem } from '../../components/states.tsx';
import { Badge } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { PageFrame, PageSkeleton, ProblemPage } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useParam, usePaths } from '../../url.ts';
import { CollectionsPanel } from './collections-panel.tsx';
import type { Project } from './connect-form.tsx';
import { CostPanel } from './cost-panel.tsx';
import { ProjectSettings } from './project-settings.tsx';
import { Protection } from './protection.tsx';
import { ReconnectButton, ReconnectByKey } from './reconnect.tsx';

export function Page() {
  const projectId = useParam('projectId');
  const project = useRead('getProject', { params: { projectId } });
  if (project.error && !project.data)
    return <ProblemPage error={project.error} onRetry={() => void project.refetch()} from="projects" />;
  return project.data ? <Shown key={projectId} project={project.data} /> : <PageSkeleton />;
}

function Shown({ project }: { project: Project }) {
  const paths = usePaths();
  const canRun = useCan('member');
  const isGood = project.connection.status === 'connected';
  return (
    <PageFrame
      title={project.name}
      crumbs={[{ label: t.projects.title, to: paths.projects }, { label: project.name }]}
      badge={<Badge tone={isGood ? 'held' : 'fail'}>{t.projects.connection[project.connection.status]}</Badge>}
      subtitle={
        <span>
          <code className="font-mono">{project.sourceProjectId}</code> ·{' '}
          <code className="font-mono">{project.databaseId}</code>, {t.projects.through[project.connection.type]}
        </span>
      }
      actions={
        <>
          <LinkButton to={paths.backupsOf(project.id)}>{t.backups.title}</LinkButton>
          <LinkButton to={paths.restoresOf(project.id)}>{t.restores.title}</LinkButton>
          {canRun && isGood && (
            <LinkButton kind="primary" icon={Archive} to={`${paths.backups}?new=${project.id}`}>
              {t.projects.backUpNow}
            </LinkButton>
          )}
        </>
      }
    >
      {!isGood && <ConnectionProblem project={project} />}
      <Protection project={project} />
      <div className="grid gap-5 lg:grid-cols-[1fr_360px]">
        <div className="flex min-w-0 flex-col gap-5">
          {isGood && <CollectionsPanel projectId={project.id} />}
          {canRun && <ProjectSettings project={project} />}
        </div>
        <div className="flex min-w-0 flex-col gap-5">
          {project.retentionFrozen && (
            <Panel tone="risk" title={t.backups.frozen}>
              <p className="text-table text-ink2">{project.retentionFrozen.reason}</p>
              <p className="mt-2 text-table">
                <TextLink to={paths.backup(project.retentionFrozen.backupId)}>{t.overview.haveALook}</TextLink>
              </p>
            </Panel>
          )}
          <Panel>
            <Facts
              rows={[
                [
                  t.projects.facts.source,
                  <code key="s" className="font-mono">
                    {project.sourceProjectId}
                  </code>,
                ],
                [
                  t.projects.facts.database,
                  <code key="d" className="font-mono">
                    {project.databaseId}
                  </code>,
                ],
                [
                  t.projects.facts.connection,
                  project.connection.email ?? project.connection.host ?? project.connection.type,
                ],
                project.connection.lastCheckedAt !== null && [
                  t.projects.facts.checked,
                  <Time key="c" at={project.connection.lastCheckedAt} as="age" />,
                ],
                [t.projects.facts.since, <Time key="t" at={project.createdAt} as="age" />],
                [t.projects.facts.id, <Id key="i" id={project.id} />],
              ]}
            />
          </Panel>
          {canRun && isGood && project.connection.type === 'service_account' && (
            <Panel>
              <details>
                <summary className="text-table font-medium text-ink2">{t.projects.otherKey}</summary>
                <p className="mt-2 mb-3 text-table text-ink2">{t.projects.otherKeyText}</p>
                <ReconnectByKey project={project} />
              </details>
            </Panel>
          )}
          {isGood && <CostPanel project={project} />}
          <DangerPanel project={project} />
        </div>
      </div>
    </PageFrame>
  );
}

function ConnectionProblem({ project }: { project: Project }) {
  const canEdit = useCan('member');
  const { error, type } = project.connection;
  return (
    <Panel tone="fail" flush>
      {error && (
        <Problem error={error} action={canEdit && <ReconnectButton project={project} word={t.projects.reconnect} />} />
      )}
      {canEdit && type === 'service_account' && (
        <div className="border-line border-t px-5 py-4">
          <ReconnectByKey project={project} />
        </div>
      )}
    </Panel>
  );
}

function DangerPanel({ project }: { project: Project }) {
  const [isAsking, setAsking] = useState(false);
  const [withBackups, setWithBackups] = useState(false);
  const go = useGo();
  const paths = usePaths();
  const { backupCount } = project.statistics;
  const remove = useAct('deleteProject', { onDone: () => go(paths.projects, { evenUnsaved: true }) });
  if (!useCan('admin')) return null;
  return (
    <Panel title={t.projects.danger}>
      <p className="mb-3 text-table text-ink2">{t.projects.disconnectText}</p>
      <Button icon={Unplug} onClick={() => setAsking(true)}>
        {t.projects.disconnect}
      </Button>
      {isAsking && (
        <Confirm
          title={t.projects.disconnectTitle(project.name)}
          action={withBackups ? t.projects.disconnectAndDelete(backupCount) : t.projects.disconnect}
          danger
          {...(withBackups ? { typed: project.sourceProjectId } : {})}
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setAsking(false)}
          onConfirm={() =>
            remove.mutate({ params: { projectId: project.id }, query: withBackups ? { deleteBackups: true } : {} })
          }
        >
          <p>{withBackups ? t.projects.disconnectAllText : t.projects.disconnectText}</p>
          {backupCount > 0 && (
            <Checkbox
              label={t.projects.disconnectBackups(backupCount)}
              checked={withBackups}
              onChange={(event) => setWithBackups(event.target.checked)}
            />
          )}
        </Confirm>
      )}
    </Panel>
  );
}
