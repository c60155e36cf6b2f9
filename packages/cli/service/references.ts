import type { Backup } from '@holdfast/contract';
import { type Client, HoldfastError } from '@holdfast/contract/client';
import { CommandFailure, wrongUsage } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';
import { nearest } from '../nearest.ts';
import { takeSome } from './lists.ts';

/** People know names, the service knows ids; both are accepted wherever something is named. */
export async function projectIdOf(client: Client, reference: string): Promise<string> {
  if (reference.startsWith('prj_')) return reference;
  const projects = client.paginate('listProjects', { query: { limit: 200 } });
  return await onlyOne(projects, reference, {
    code: 'PROJECT_NOT_FOUND',
    kind: 'project',
    adding: 'project add',
    names: ({ name, sourceProjectId }) => [name, sourceProjectId],
    about: ({ sourceProjectId, databaseId }) => `${sourceProjectId}, database ${databaseId}`,
  });
}

const projectsMax = 1000;

/** How lists name a project: its name, with its Google project if the name is not unique, or else its id. */
export async function projectNames(client: Client): Promise<(projectId: string) => string> {
  const names = new Map<string, string>();
  try {
    const projects = (await takeSome(client.paginate('listProjects', { query: { limit: 200 } }), projectsMax)).items;
    for (const { id, name, sourceProjectId } of projects) {
      const isShared = projects.some((other) => other.id !== id && other.name === name);
      names.set(id, isShared ? `${name} (${sourceProjectId})` : name);
    }
  } catch (error) {
    // A key may be allowed to see backups but not projects.
    if (!(error instanceof HoldfastError && error.status === 403)) throw error;
  }
  return (projectId) => names.get(projectId) ?? projectId;
}

export async function storageIdOf(client: Client, reference: string): Promise<string> {
  if (reference.startsWith('dst_')) return reference;
  const destinations = client.paginate('listStorageDestinations', { query: { limit: 200 } });
  return await onlyOne(destinations, reference, {
    code: 'STORAGE_DESTINATION_NOT_FOUND',
    kind: 'storage destination',
    adding: 'storage add',
    names: ({ name }) => [name],
    about: ({ type, bucket, path }) => `${type} ${bucket ?? path ?? ''}`,
  });
}

export async function scheduleIdOf(client: Client, reference: string): Promise<string> {
  if (reference.startsWith('sch_')) return reference;
  const schedules = client.paginate('listSchedules', { query: { limit: 200 } });
  return await onlyOne(schedules, reference, {
    code: 'SCHEDULE_NOT_FOUND',
    kind: 'schedule',
    adding: 'schedule add',
    names: ({ name }) => [name],
    about: ({ cron, projectId }) => `${cron}, of ${projectId}`,
  });
}

export async function webhookIdOf(client: Client, reference: string): Promise<string> {
  if (reference.startsWith('whk_')) return reference;
  const webhooks = client.paginate('listWebhooks', { query: { limit: 200 } });
  return await onlyOne(webhooks, reference, {
    code: 'WEBHOOK_NOT_FOUND',
    kind: 'webhook',
    adding: 'webhook add',
    names: ({ name }) => [name],
    about: ({ url }) => url,
  });
}

export async function memberIdOf(client: Client, reference: string): Promise<string> {
  if (reference.startsWith('usr_')) return reference;
  const members = withId(client.paginate('listMembers', { query: { limit: 200 } }));
  const names = ({ email }: { email: string }) => [email];
  return await onlyOne(members, reference, { code: 'MEMBER_NOT_FOUND', kind: 'member', names, about: () => '' });
}

async function* withId<T extends { userId: string }>(members: AsyncIterable<T>) {
  for await (const member of members) yield { ...member, id: member.userId };
}

export async function invitationIdOf(client: Client, reference: string): Promise<string> {
  if (reference.startsWith('inv_')) return reference;
  const invitations = client.paginate('listInvitations', { query: { limit: 200 } });
  const names = ({ email }: { email: string }) => [email];
  const kind = 'open invitation of';
  return await onlyOne(invitations, reference, { code: 'INVITATION_NOT_FOUND', kind, names, about: () => '' });
}

const latest = 'latest:';

/**
 * An id, or `latest:<project>` for the newest completed backup of everything: safety backups and partial backups do not
 * count.
 */
export async function backupIdOf(client: Client, reference: string): Promise<string> {
  if (reference === 'latest') throw wrongUsage('Say of which project: latest:<project>.');
  if (!reference.startsWith(latest)) return reference;
  const projectId = await projectIdOf(client, reference.slice(latest.length));
  let newest: Backup | undefined;
  for await (const backup of client.paginate('listBackups', {
    query: { projectId, status: 'completed', limit: 200 },
  })) {
    // Lists are ordered by when a backup was made. An imported backup shows an older time, and none shows a later time
    // than when it was made.
    if (newest && backup.createdAt < shownInstant(newest)) break;
    if (isWhole(backup) && (!newest || shownInstant(backup) > shownInstant(newest))) newest = backup;
  }
  if (newest) return newest.id;
  throw notFound(
    'BACKUP_NOT_FOUND',
    'The project has no completed backup of everything. `backup list` shows what there is.',
  );
}

function shownInstant({ snapshotTime, createdAt }: Backup): string {
  return snapshotTime ?? createdAt;
}

function isWhole({ trigger, importedFrom, scope }: Backup): boolean {
  const isOwn = trigger !== 'pre_restore' && (importedFrom === null || importedFrom === 'holdfast');
  return (
    isOwn && scope.collections.includes('*') && scope.excludeCollections.length === 0 && scope.includeSubcollections
  );
}

interface Naming<T> {
  readonly code: string;
  readonly kind: string;
  /** The command that makes the first one. */
  readonly adding?: string;
  /** Every word that identifies it. */
  readonly names: (candidate: T) => readonly string[];
  /** What distinguishes two of the same name. */
  readonly about: (candidate: T) => string;
}

async function onlyOne<T extends { id: string }>(
  candidates: AsyncIterable<T>,
  reference: string,
  { code, kind, adding, names, about }: Naming<T>,
): Promise<string> {
  const found: T[] = [];
  const known = new Set<string>();
  for await (const candidate of candidates) {
    if (names(candidate).includes(reference)) found.push(candidate);
    for (const name of names(candidate)) known.add(name);
  }
  if (found.length > 1) {
    const choice = found.map((candidate) => `  ${candidate.id}  ${about(candidate)}`).join('\n');
    throw wrongUsage(`${found.length} have the name ${reference}.`, `Say which by its id:\n${choice}`);
  }
  if (found[0] !== undefined) return found[0].id;
  if (known.size === 0 && adding !== undefined)
    throw notFound(
      code,
      `There is no ${kind} ${reference}.`,
      `There is none yet: \`holdfast ${adding}\` makes the first.`,
    );
  const meant = nearest(reference, [...known]);
  throw notFound(code, `There is no ${kind} ${reference}.`, meant === undefined ? undefined : `Did you mean ${meant}?`);
}

export function notFound(code: string, message: string, remedy?: string): CommandFailure {
  return new CommandFailure(code, message, { exit: exitCode.notFound, ...(remedy ? { remedy } : {}) });
}
