import { UserRound } from 'lucide-react';
import { useAct, useAll, useRead } from '../../api/calls.ts';
import { Button, TextLink } from '../../components/button.tsx';
import { List } from '../../components/list.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { Empty, FormProblem, Problem, Skeleton } from '../../components/states.tsx';
import { Badge } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { nameOfAgent } from '../../format/user-agent.ts';
import { pathsOf } from '../../paths.ts';
import { t } from '../../texts/index.ts';

/** The person: profile, organizations, sessions. */
export function PersonPanels() {
  const me = useRead('getMe', {});
  const organizations = useAll('listOrganizations', {});
  if (me.error && !me.data)
    return me.error.status === 401 ? null : <Problem error={me.error} onRetry={() => void me.refetch()} />;
  if (!me.data) return <Skeleton />;
  return (
    <>
      <Panel title={t.account.profile}>
        <Facts
          rows={[
            [t.account.name, me.data.name],
            [t.account.email, me.data.email],
            [t.account.since, <Time key="s" at={me.data.createdAt} as="age" />],
            [
              t.account.organizations,
              <ul key="o">
                {organizations.rows?.map((organization) => (
                  <li key={organization.id}>
                    <TextLink to={pathsOf(organization.slug).overview}>{organization.name}</TextLink>,{' '}
                    {t.roles[organization.role].toLowerCase()}
                  </li>
                ))}
              </ul>,
            ],
          ]}
        />
      </Panel>
      <Sessions />
    </>
  );
}

function Sessions() {
  const sessions = useAll('listSessions', {});
  const end = useAct('revokeSession');
  const others = sessions.rows?.filter(({ current }) => !current) ?? [];
  return (
    <section className="flex flex-col gap-3" aria-labelledby="sessions">
      <div className="flex items-center justify-between gap-3">
        <div>
          <h2 id="sessions" className="text-body font-semibold">
            {t.account.sessions}
          </h2>
          <p className="text-table text-ink2">{t.account.sessionsHint}</p>
        </div>
        {others.length > 1 && (
          <Button
            busy={end.isPending}
            onClick={() => {
              for (const { id } of others) end.mutate({ params: { sessionId: id } });
            }}
          >
            {t.account.endOthers}
          </Button>
        )}
      </div>
      <FormProblem error={end.error} />
      <List list={sessions} empty={<Empty icon={UserRound} title={t.account.sessions} />}>
        {(rows) => (
          <ul className="overflow-hidden rounded-panel border border-line">
            {rows.map((session) => (
              <li
                key={session.id}
                className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b px-4 py-2.5 text-table last:border-b-0"
              >
                <span className="min-w-0 flex-1">
                  <span className="block truncate" title={session.userAgent ?? undefined}>
                    {nameOfAgent(session.userAgent)}
                  </span>
                  <span className="text-meta text-ink3">
                    {session.ip && `${session.ip} · `}
                    {t.account.lastUsed} <Time at={session.lastUsedAt} as="age" /> · {t.account.started}{' '}
                    <Time at={session.createdAt} as="age" />
                  </span>
                </span>
                {session.current ? (
                  <Badge tone="held">{t.account.current}</Badge>
                ) : (
                  <Button
                    busy={end.isPending && end.variables?.params.sessionId === session.id}
                    onClick={() => end.mutate({ params: { sessionId: session.id } })}
                  >
                    {t.account.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </List>
    </section>
  );
}
