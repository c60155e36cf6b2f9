import { Navigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useAll } from '../api/calls.ts';
import { Problem, Skeleton } from '../components/states.tsx';
import { pathsOf } from '../paths.ts';
import { lastSlug } from '../shell/last-organization.ts';
import { takeNext } from './sign-in/next.ts';

/**
 * Where a person belongs: where they wanted to go, else the organization they were in last. An address that names no
 * organization is looked for in that one, which has the way to everything else when there is nothing at it.
 */
export function Page() {
  const [next] = useState(takeNext);
  // As it was when one came. Who follows it is drawn again by the way that leads on, and begins that way anew.
  const [href] = useState(() => `${window.location.pathname}${window.location.search}`);
  const organizations = useAll('listOrganizations', {}, { everyMs: false });
  if (organizations.error && organizations.error.status !== 401)
    return <Problem error={organizations.error} onRetry={() => void organizations.refetch()} />;
  if (!organizations.rows) return <Skeleton />;
  if (next && next !== '/') return <Navigate to={next} replace />;
  const wanted = organizations.rows.find(({ slug }) => slug === lastSlug()) ?? organizations.rows[0];
  return <Navigate to={wanted ? pathsOf(wanted.slug).inside(href) : '/organizations/new'} replace />;
}
