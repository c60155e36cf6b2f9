import type { AuditEntry } from '@holdfast/contract';
import type { Paths } from '../../paths.ts';
import { t } from '../../texts/index.ts';

export const wordsOf = (type: string) => `${type.charAt(0).toUpperCase()}${type.slice(1).replaceAll('_', ' ')}`;

/** What an entry is about, in words: a backup of which project, a schedule of which name. */
export function subjectOf({ resource, details }: AuditEntry, projectName: (id: string) => string | undefined): string {
  const what = details.dryRun === true ? t.restores.dryRun : wordsOf(resource.type);
  if (typeof details.name === 'string') return `${what} ${details.name}`;
  if (resource.type === 'project') return `${what} ${projectName(resource.id ?? '') ?? ''}`.trim();
  const projectId = details.projectId ?? details.targetProjectId;
  const name = typeof projectId === 'string' ? projectName(projectId) : undefined;
  return name === undefined ? what : `${what} ${t.backups.of(name)}`;
}

/** Where it can be looked at, when it has a page. */
export function pathOf({ type, id }: AuditEntry['resource'], paths: Paths): string | undefined {
  if (id === null) return undefined;
  const pages: Readonly<Record<string, (id: string) => string>> = {
    backup: paths.backup,
    restore: paths.restore,
    project: paths.project,
    schedule: paths.schedule,
    storage_destination: paths.destination,
    webhook: paths.webhook,
  };
  return pages[type]?.(id);
}
