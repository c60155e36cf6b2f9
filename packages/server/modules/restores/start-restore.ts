import type { BodyOf, Operations } from '@holdfast/contract';
import { documentsScope, parseInstant, type Scope, wholeDatabase } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import { findEarlierResult } from '../../platform/earlier-result.ts';
import { type Caller, callerEmail } from '../../platform/principal.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import { backupStore, scopeOf } from '../backups/index.ts';
import { databaseName, type ProjectRow, projectStore } from '../projects/index.ts';
import { restoreSubject } from './audit-details.ts';
import type { RestoresContext } from './context.ts';
import { type NewRestore, type RestoreRow, restoreStore } from './restore-store.ts';
import { admitRestores } from './run/admission.ts';
import { askedScope } from './run/scope-of-restore.ts';
import type { StoredItem } from './tables.ts';

type Request = BodyOf<Operations['startRestore']>;

export async function startRestore(context: RestoresContext, caller: Caller, request: Request): Promise<RestoreRow> {
  const { database } = context.platform;
  const organizationId = caller.organization.id;
  const made = await findEarlierResult(context.platform, caller, 'rst', restoreStore.find);
  if (made) return made;
  const what = await whatToRestore(context, organizationId, request);
  const row = await database.tenant(organizationId, async (transaction) => {
    const target = await targetOf(transaction, organizationId, request.targetProjectId, what.projectId);
    const inserted = await restoreStore.insert(transaction, newRestore(context, caller, what, target, request));
    // The insert holds the target and the backups, so they can no longer be disconnected or deleted; before that, they
    // could.
    await projectStore.get(transaction, organizationId, target.id);
    await backupStore.hold(transaction, organizationId, backupsOf(inserted));
    const { mergeMode, dryRun, deleteExtra, safetyBackup } = inserted;
    await context.audit.noteCaller(transaction, caller, {
      action: 'restore.created',
      resource: { type: 'restore', id: inserted.id },
      details: {
        ...(what.backupId ? { backupId: what.backupId } : {}),
        ...(what.pointInTime ? { pointInTime: what.pointInTime } : {}),
        ...restoreSubject(inserted),
        mergeMode,
        deleteExtra,
        safetyBackup,
        dryRun,
      },
    });
    return inserted;
  });
  await admitRestores(context.platform);
  return row;
}

const backupsOf = ({ backupId, items }: RestoreRow) =>
  [backupId, ...(items ?? []).map((item) => item.backupId)].flatMap((id) => id ?? []);

/** The project of a backup may be disconnected. Then the caller must name a target. */
async function targetOf(
  transaction: Transaction,
  organizationId: string,
  targetProjectId: string | undefined,
  projectId: string,
): Promise<ProjectRow> {
  if (targetProjectId !== undefined) return projectStore.get(transaction, organizationId, targetProjectId);
  const own = await projectStore.findKept(transaction, organizationId, projectId);
  if (own?.deletedAt === null) return own;
  throw new Problem(
    'PROJECT_NOT_FOUND',
    'The project of this backup is disconnected. Name the project to restore into as targetProjectId.',
  );
}

interface RestoreInput extends Pick<NewRestore, 'backupId' | 'pointInTime' | 'items'> {
  projectId: string;
  hasAuthUsers: boolean;
  /** The database whose Google project the accounts belong to. */
  database: string | null;
  /** What it covers, as far as the record knows. */
  scope: Scope;
}

async function whatToRestore(
  context: RestoresContext,
  organizationId: string,
  request: Request,
): Promise<RestoreInput> {
  const { database } = context.platform;
  const none = { backupId: null, pointInTime: null, items: null, hasAuthUsers: false, database: null };
  if (request.items && request.options.includeAuthUsers)
    throw invalid('options.includeAuthUsers', 'is not for picked documents: restore accounts from one backup');
  if (request.items) return { ...none, ...(await basketOf(context, organizationId, request)) };
  if (request.backupId !== undefined) {
    const { backup, own } = await database.tenant(organizationId, async (transaction) => {
      const found = await completedBackup(transaction, organizationId, request.backupId!);
      return { backup: found, own: await projectStore.findKept(transaction, organizationId, found.projectId) };
    });
    const { projectId, imported, includeAuthUsers: hasAuthUsers } = backup;
    if (request.options.includeAuthUsers && !hasAuthUsers)
      throw invalid('options.includeAuthUsers', 'is not for this backup: it holds no accounts');
    const of = imported?.ofDatabase ?? (own ? databaseName(own) : null);
    return { ...none, backupId: backup.id, projectId, hasAuthUsers, database: of, scope: scopeOf(backup) };
  }
  const project = await database.tenant(organizationId, (transaction) =>
    projectStore.get(transaction, organizationId, request.projectId ?? ''),
  );
  if (request.options.includeAuthUsers)
    throw invalid(
      'options.includeAuthUsers',
      'is not for moments: auth users are not captured, restore them from a backup',
    );
  const pointInTime = parseInstant(request.pointInTime!)!;
  await context.moments.require(organizationId, project.id, pointInTime);
  return { ...none, pointInTime, projectId: project.id, scope: wholeDatabase };
}

async function basketOf(context: RestoresContext, organizationId: string, request: Request) {
  const { database } = context.platform;
  const items: StoredItem[] = [];
  const projects = new Set<string>(request.projectId ? [request.projectId] : []);
  for (const { backupId, pointInTime, path } of request.items!) {
    if (items.some((item) => item.path === path)) throw invalid('items', `${path} is picked twice`);
    items.push({ path, backupId: backupId ?? null, pointInTime: pointInTime ? parseInstant(pointInTime)! : null });
  }
  // Many documents come from few backups or moments, and each of these is looked up once.
  const backupIds = new Set(items.flatMap(({ backupId }) => backupId ?? []));
  const moments = new Set(items.flatMap(({ pointInTime }) => pointInTime ?? []));
  const projectId = await database.tenant(organizationId, async (transaction) => {
    for (const backupId of backupIds)
      projects.add((await completedBackup(transaction, organizationId, backupId)).projectId);
    return oneProject(transaction, organizationId, [...projects], request.projectId);
  });
  // Backups stay after their project was disconnected, captured moments do not.
  if (moments.size > 0)
    await database.tenant(organizationId, (transaction) => projectStore.get(transaction, organizationId, projectId));
  for (const moment of moments) await context.moments.require(organizationId, projectId, moment);
  return { items, projectId, scope: documentsScope(items.map(({ path }) => path)) };
}

/** Backups from an earlier connection of the project are of the same database and belong to it. */
async function oneProject(
  transaction: Transaction,
  organizationId: string,
  ids: readonly string[],
  named: string | undefined,
): Promise<string> {
  const connected = ids.length > 1 ? await projectStore.connectedAmong(transaction, organizationId, ids) : [];
  const projectId = named ?? connected[0] ?? ids.toSorted().at(-1);
  if (projectId === undefined) throw invalid('items', 'belong to no project');
  if (ids.length === 1) return projectId;
  const family = await projectStore.withFormer(transaction, organizationId, projectId);
  if (ids.every((id) => family.includes(id))) return projectId;
  throw invalid('items', 'belong to several projects');
}

async function completedBackup(transaction: Transaction, organizationId: string, backupId: string) {
  const backup = await backupStore.get(transaction, organizationId, backupId);
  if (backup.status === 'completed') return backup;
  throw new Problem(
    'INVALID_STATE',
    `Only a completed backup can be restored; the status of this one is ${backup.status}.`,
    {
      details: { status: backup.status },
    },
  );
}

/**
 * A restore of everything includes the accounts. But databases of one Google project share them: the accounts in use
 * must not be set back because somebody tries a backup in another database of the project.
 */
function bringsAccounts({ hasAuthUsers, database }: RestoreInput, target: ProjectRow): boolean {
  const isBeside = database?.startsWith(`projects/${target.sourceProjectId}/`) && database !== databaseName(target);
  return hasAuthUsers && !isBeside;
}

function newRestore(
  context: RestoresContext,
  caller: Caller,
  what: RestoreInput,
  target: ProjectRow,
  request: Request,
): NewRestore {
  const { clock, ids } = context.platform;
  const now = clock.now();
  const { options } = request;
  const named = request.collections ?? options.collections;
  const collections = named && !(named.length === 1 && named[0] === '*') ? named : null;
  const documentPaths = request.documentIds ? pathsOf(request.documentIds, collections) : null;
  const { includeSubcollections: subcollections, deleteExtra } = options;
  const asked = { collections, documentPaths, deleteExtra };
  const scope = askedScope(what.scope, {
    ...asked,
    ...(subcollections === undefined ? {} : { includeSubcollections: subcollections }),
  });
  const { backupId, pointInTime, items, projectId } = what;
  const takesSubcollections =
    documentPaths === null && items === null
      ? (subcollections ?? (scope.documents !== undefined || scope.includeSubcollections))
      : subcollections === true;
  const takesBelow = documentPaths !== null && takesSubcollections;
  return {
    id: ids.next('rst', caller.origin.newId),
    organizationId: caller.organization.id,
    startedBy: callerEmail(caller.principal),
    backupId,
    pointInTime,
    items,
    projectId,
    targetProjectId: target.id,
    status: 'pending',
    phase: 'Initializing',
    mergeMode: options.mergeMode,
    dryRun: options.dryRun,
    collections,
    documentPaths,
    includeAuthUsers: options.includeAuthUsers ?? (bringsAccounts(what, target) && !documentPaths && !collections),
    includeSubcollections: takesSubcollections,
    takesBelow,
    ...(takesBelow ? { epoch: 0, belowEpoch: 0 } : {}),
    safetyBackup: options.safetyBackup,
    rewriteReferences: options.rewriteReferences,
    deleteExtra,
    checkpoint: { stage: 'puts' },
    createdAt: now,
    updatedAt: now,
  };
}

/** Ids without a slash belong to the one named collection; paths must be document paths. */
function pathsOf(ids: readonly string[], collections: readonly string[] | null): string[] {
  const [collection] = collections ?? [];
  const paths = ids.map((id) => (id.includes('/') ? id : `${collection}/${id}`));
  for (const path of paths) {
    const segments = path.split('/');
    if (segments.length % 2 !== 0 || segments.includes(''))
      throw invalid('documentIds', `${path.slice(0, 200)} is not the path of a document`);
  }
  return [...new Set(paths)];
}
