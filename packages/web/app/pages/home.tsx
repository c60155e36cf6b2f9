import { Navigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useAll } from '../api/calls.ts';
import { Problem, Skeleton } from '../components/states.tsx';
import { pathsOf } from '../paths.ts';
import { lastSlug } from '../shell/last-organization.ts';
import { takeNext } from './sign-in/next.ts';

/** Where a person belongs: where they wanted to go, else the organization they were in last. */
export function Page() {
  const [next] = useState(takeNext);
  const organizations = useAll('listOrganizations', {}, { everyMs: false });
  if (organizations.error && organizations.error.status !== 401)
    return <Problem error={organizations.error} onRetry={() => void organizations.refetch()} />;
  if (!organizations.rows) return <Skeleton />;
  if (next && next !== '/') return <Navigate to={next} replace />;
  const wanted = organizations.rows.find(({ slug }) => slug === lastSlug()) ?? organizations.rows[0];
  return <Navigate to={wanted ? pathsOf(wanted.slug).overview : '/organizations/new'} replace />;
}
