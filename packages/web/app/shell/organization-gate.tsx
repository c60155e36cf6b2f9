import { minuteMs } from '@holdfast/contract';
import { Outlet } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect } from 'react';
import { useAll, useRead } from '../api/calls.ts';
import { useOrganizationChanges } from '../api/changes.ts';
import { useWorkplace, WorkplaceProvider } from '../api/organization.tsx';
import { Problem, Skeleton } from '../components/states.tsx';
import { formatClock } from '../format/times.ts';
import { t } from '../texts/index.ts';
import { useParam } from '../url.ts';
import { rememberSlug } from './last-organization.ts';
import { noteSignedIn } from './sign-out.ts';

const NothingHereAlone = lazy(async () => ({
  default: (await import('../components/nothing-here.tsx')).NothingHereAlone,
}));

/** Provides the organization of the address and the person's role in it. */
export function OrganizationGate() {
  const slug = useParam('slug');
  const me = useRead('getMe', {}, { everyMs: minuteMs });
  const organizations = useAll('listOrganizations', {}, { everyMs: minuteMs });
  const organization = organizations.rows?.find((candidate) => candidate.slug === slug);
  useEffect(() => {
    if (organization) rememberSlug(organization.slug);
  }, [organization]);
  useEffect(() => {
    if (me.data) noteSignedIn();
  }, [me.data]);
  const error = me.error ?? organizations.error;
  if (error && !(me.data && organizations.rows)) {
    const retry = () => void Promise.all([me.refetch(), organizations.refetch()]);
    return error.status === 401 ? null : <Problem error={error} onRetry={retry} />;
  }
  if (!me.data || !organizations.rows) return <Skeleton />;
  if (!organization)
    return (
      <Suspense fallback={<Skeleton />}>
        <NothingHereAlone />
      </Suspense>
    );
  return (
    <WorkplaceProvider value={{ organization, organizations: organizations.rows, me: me.data, timezone: 'UTC' }}>
      {/* Made anew for each organization: what is shown while an answer is awaited is never that of another. */}
      <ZoneGate key={organization.id}>
        <Outlet />
      </ZoneGate>
    </WorkplaceProvider>
  );
}

/** The zone of times comes from the organization's settings. */
function ZoneGate({ children }: { children: ReactNode }) {
  const workplace = useWorkplace();
  const { awaySince } = useOrganizationChanges(workplace.organization.id);
  const organization = useRead('getOrganization', {}, { everyMs: minuteMs });
  if (organization.error && !organization.data)
    return <Problem error={organization.error} onRetry={() => void organization.refetch()} />;
  if (!organization.data) return <Skeleton />;
  const { timezone } = organization.data.settings;
  return (
    <WorkplaceProvider value={{ ...workplace, timezone }}>
      {awaySince !== null && <Away since={formatClock(awaySince, timezone)} />}
      {children}
    </WorkplaceProvider>
  );
}

/** Shown data stays; after a longer break the page says that it may be old. */
function Away({ since }: { since: string }) {
  return (
    <p
      role="status"
      className="fixed bottom-4 left-1/2 z-50 -translate-x-1/2 rounded-control bg-ink px-4 py-2 text-on-ink text-table shadow-overlay max-md:bottom-20"
    >
      {t.common.reconnecting(since)}
    </p>
  );
}
