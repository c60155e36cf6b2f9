import { Navigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useAll } from '../api/calls.ts';
import { Problem, Skeleton } from '../components/states.tsx';
import { pathsOf } from '../paths.ts';
import { lastSlug } from '../shell/last-organization.ts';
import { takeNext } from './sign-in/next.ts';

/**
 * Redirects to the page the person wanted, else to their last organization. An address without an organization is opened in
 * that one, whose shell has a page for unknown addresses.
 */
export function Page() {
  const [next] = useState(takeNext);
  // Read once: following it would render this page again during the navigation and start it anew.
  const [href] = useState(() => `${window.location.pathname}${window.location.search}`);
  const organizations = useAll('listOrganizations', {}, { everyMs: false });
  if (organizations.error && organizations.error.status !== 401)
    return <Problem error={organizations.error} onRetry={() => void organizations.refetch()} />;
  if (!organizations.rows) return <Skeleton />;
  if (next && next !== '/') return <Navigate to={next} replace />;
  const wanted = organizations.rows.find(({ slug }) => slug === lastSlug()) ?? organizations.rows[0];
  return <Navigate to={wanted ? pathsOf(wanted.slug).inside(href) : '/organizations/new'} replace />;
}
