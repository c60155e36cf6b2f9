import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  parseSearchWith,
  stringifySearchWith,
} from '@tanstack/react-router';
import { quietMs } from './components/states.tsx';
import { late } from './late.tsx';
import { PageLoading } from './pages/page-loading.tsx';
import { PageProblem } from './pages/page-problem.tsx';

const root = createRootRoute({ component: Outlet, errorComponent: PageProblem });

type Loader = () => Promise<{ Page: () => React.ReactNode }>;
const lazy = (load: Loader) => lazyRouteComponent(late(load), 'Page');

/** One file per page, each loaded when it is first opened. */
const outside = {
  '/': () => import('./pages/home.tsx'),
  '/sign-in': () => import('./pages/sign-in/sign-in.tsx'),
  '/auth/local': () => import('./pages/sign-in/local-link.tsx'),
  '/invitations/accept': () => import('./pages/sign-in/accept-invitation.tsx'),
  '/account': () => import('./pages/account/account.tsx'),
  '/organizations/new': () => import('./pages/sign-in/new-organization.tsx'),
  '/$': () => import('./pages/home.tsx'),
} satisfies Record<string, Loader>;

/** Below `/o/$slug`, outside the shell. */
const alone = {
  '/start': () => import('./pages/start/start.tsx'),
} satisfies Record<string, Loader>;

/** Below `/o/$slug`, inside the shell. */
const inside = {
  '/': () => import('./pages/overview/overview.tsx'),
  '/projects': () => import('./pages/projects/projects.tsx'),
  '/projects/$projectId': () => import('./pages/projects/project.tsx'),
  '/backups': () => import('./pages/backups/backups.tsx'),
  '/backups/$backupId': () => import('./pages/backups/backup.tsx'),
  '/backups/$backupId/browse': () => import('./pages/browse/browse.tsx'),
  '/backups/$backupId/browse/$': () => import('./pages/browse/browse.tsx'),
  '/backups/$backupId/compare': () => import('./pages/browse/compare.tsx'),
  '/schedules': () => import('./pages/schedules/schedules.tsx'),
  '/schedules/new': () => import('./pages/schedules/new-schedule.tsx'),
  '/schedules/$scheduleId': () => import('./pages/schedules/schedule.tsx'),
  '/storage': () => import('./pages/storage/storage.tsx'),
  '/storage/$storageId': () => import('./pages/storage/destination.tsx'),
  '/time': () => import('./pages/time/time.tsx'),
  '/projects/$projectId/time': () => import('./pages/time/time.tsx'),
  '/restores': () => import('./pages/restores/restores.tsx'),
  '/restores/new': () => import('./pages/restores/new-restore.tsx'),
  '/restores/$restoreId': () => import('./pages/restores/restore.tsx'),
  '/webhooks': () => import('./pages/webhooks/webhooks.tsx'),
  '/webhooks/$webhookId': () => import('./pages/webhooks/webhook.tsx'),
  '/webhooks/$webhookId/deliveries/$deliveryId': () => import('./pages/webhooks/webhook.tsx'),
  '/team': () => import('./pages/team/team.tsx'),
  '/audit': () => import('./pages/audit/audit.tsx'),
  '/settings': () => import('./pages/settings/settings.tsx'),
  '/account': () => import('./pages/account/account-inside.tsx'),
  '/find': () => import('./pages/find/find.tsx'),
  '/projects/$projectId/documents/$': () => import('./pages/find/document.tsx'),
  '/$': () => import('./pages/not-found.tsx'),
} satisfies Record<string, Loader>;

const organization = createRoute({
  getParentRoute: () => root,
  path: '/o/$slug',
  component: lazyRouteComponent(
    late(() => import('./shell/organization-gate.tsx')),
    'OrganizationGate',
  ),
});
const shell = createRoute({
  getParentRoute: () => organization,
  id: 'shell',
  component: lazyRouteComponent(
    late(() => import('./shell/shell.tsx')),
    'Shell',
  ),
});

const pagesOf = (parent: typeof root | typeof organization | typeof shell, pages: Record<string, Loader>) =>
  Object.entries(pages).map(([path, load]) =>
    createRoute({ getParentRoute: () => parent as typeof root, path, component: lazy(load) }),
  );

const tree = root.addChildren([
  ...pagesOf(root, outside),
  organization.addChildren([...pagesOf(organization, alone), shell.addChildren(pagesOf(shell, inside))]),
]);

/** Search parameters are plain strings: `?project=prj_1`, never JSON. */
export const router = createRouter({
  routeTree: tree,
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  defaultErrorComponent: PageProblem,
  defaultPendingComponent: PageLoading,
  defaultPendingMs: quietMs,
  defaultPendingMinMs: 0,
  parseSearch: parseSearchWith((value) => value),
  stringifySearch: stringifySearchWith(String),
});
