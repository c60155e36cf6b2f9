/** Every address of the dashboard. Pages link through here, so that a route has one spelling. */
export interface RestoreStart {
  backupId?: string | undefined;
  projectId?: string | undefined;
  at?: string | undefined;
  collections?: string | undefined;
  /** One document by its path, whatever characters it holds; several, one in each line. */
  document?: string | undefined;
  documents?: string | undefined;
  /** With everything below them. */
  below?: '1' | undefined;
  basket?: '1' | undefined;
  /** Into which project, how, and whether what was not there is removed. */
  target?: string | undefined;
  mode?: string | undefined;
  extra?: '1' | undefined;
  users?: '0' | '1' | undefined;
  /** When the document got the version that the backup holds. */
  version?: string | undefined;
  /** The open step. */
  step?: string | undefined;
}

function query(values: object): string {
  const pairs = Object.entries(values).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string' && pair[1] !== '',
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}

const encodePath = (path: string) => path.split('/').map(encodeURIComponent).join('/');

/** Where a deleted organization is recovered, also by a person who is in no other one. */
export const recoverPath = (organizationId: string) => `/organizations/new${query({ recover: organizationId })}`;

export const pathsOf = (slug: string) => {
  const at = (rest: string) => `/o/${slug}${rest}`;
  return {
    overview: at(''),
    /** For an address without an organization. */
    inside: (href: string) => at(href.replace(/^\/(?=[?#]|$)/, '')),
    start: at('/start'),
    projects: at('/projects'),
    newProject: at('/projects?new=1'),
    project: (id: string) => at(`/projects/${id}`),
    document: (projectId: string, path: string, more: { then?: string; at?: string | undefined } = {}) =>
      at(`/projects/${projectId}/documents/${encodePath(path)}${query(more)}`),
    /** With the path to search as of the moment chosen there. */
    time: (projectId?: string, moment?: string, path?: string) =>
      at(projectId ? `/projects/${projectId}/time${query({ at: moment, q: path })}` : '/time'),
    backups: at('/backups'),
    backupsOf: (projectId: string) => at(`/backups${query({ project: projectId })}`),
    /** The backups in a destination. */
    backupsIn: (storage: string, project?: string) => at(`/backups${query({ project, storage, status: 'completed' })}`),
    failedBackups: at('/backups?status=failed'),
    newBackup: at('/backups?new=1'),
    backup: (id: string) => at(`/backups/${id}`),
    browse: (id: string, path = '') => at(`/backups/${id}/browse${path ? `/${encodePath(path)}` : ''}`),
    compare: (id: string, against = 'live') => at(`/backups/${id}/compare${query({ against })}`),
    schedules: at('/schedules'),
    newSchedule: (projectId?: string) => at(`/schedules/new${query({ project: projectId })}`),
    schedule: (id: string) => at(`/schedules/${id}`),
    storage: at('/storage'),
    newStorage: at('/storage?new=1'),
    destination: (id: string) => at(`/storage/${id}`),
    find: (text?: string, more: { project?: string; at?: string } = {}) => at(`/find${query({ q: text, ...more })}`),
    restores: at('/restores'),
    restoresOf: (projectId: string) => at(`/restores${query({ project: projectId })}`),
    newRestore: (start: RestoreStart) => at(`/restores/new${query(start)}`),
    restore: (id: string) => at(`/restores/${id}`),
    /** With the undo dialog open. */
    undo: (id: string) => at(`/restores/${id}?undo=1`),
    drills: at('/restores?tab=drills'),
    webhooks: at('/webhooks'),
    newWebhook: at('/webhooks?new=1'),
    webhook: (id: string, tab?: string) => at(`/webhooks/${id}${query({ tab })}`),
    delivery: (id: string, deliveryId: string, filters: Record<string, string | undefined> = {}) =>
      at(`/webhooks/${id}/deliveries/${deliveryId}${query(filters)}`),
    team: at('/team'),
    invite: at('/team?new=1'),
    audit: at('/audit'),
    settings: (tab?: string) => at(`/settings${query({ tab })}`),
    account: at('/account'),
  };
};
export type Paths = ReturnType<typeof pathsOf>;
