import type { BodyOf, Operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { defined } from '../../platform/defined.ts';
import { differences } from '../../platform/differences.ts';
import { findEarlierResult } from '../../platform/earlier-result.ts';
import type { VersionedCaller } from '../../platform/principal.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import { requireBelowLimit } from '../organizations/index.ts';
import { storageCredentialsPurpose } from './access/open-store.ts';
import { identifyPlace } from './access/places.ts';
import { checkStorage, emitStorageState, recordCheck } from './checks/check-storage.ts';
import type { StorageContext } from './context.ts';
import { destinationsLimit } from './destinations-limit.ts';
import { type DestinationRow, destinationEtag, type NewDestination, storageStore } from './storage-store.ts';
import { taskStore } from './tasks/task-store.ts';

type CreateRequest = BodyOf<Operations['createStorageDestination']>;
type UpdateRequest = BodyOf<Operations['updateStorageDestination']>;

/** Adds a destination and checks it at once. One that fails the check is kept, so that it can be corrected. */
export async function createStorage(
  context: StorageContext,
  caller: VersionedCaller,
  request: CreateRequest,
): Promise<DestinationRow> {
  const { database, clock } = context.platform;
  const organizationId = caller.organization.id;
  const made = await findEarlierResult(context.platform, caller, 'dst', storageStore.find);
  if (made) return made;
  const unplaced = newDestination(context, organizationId, request, caller.origin.newId);
  const { test, ...check } = await checkStorage(context.stores, unplaced, clock);
  const draft = { ...unplaced, placeId: test.ok ? await identifyPlace(context, unplaced) : null };
  return database.tenant(organizationId, async (transaction) => {
    await requireBelowLimit(transaction, organizationId, destinationsLimit(context.platform.config));
    await storageStore.insert(transaction, { ...draft, ...check });
    const row = await storageStore.get(transaction, organizationId, draft.id);
    if (await becomesDefault(context, transaction, row, request.isDefault))
      await context.defaults.set(transaction, caller, row.id);
    await emitStorageState(context.platform.outbox, transaction, row);
    if (row.status === 'connected') await context.dependents.connected(transaction, row);
    await context.audit.noteCaller(transaction, caller, {
      action: 'storage.created',
      resource: { type: 'storage_destination', id: row.id },
      details: {
        name: row.name,
        type: row.type,
        bucket: row.bucket,
        status: row.status,
        test: test.ok,
      },
    });
    return row;
  });
}

/**
 * Whether it becomes the default: the first working destination does, unless the caller says otherwise. One that does
 * not work never does, so that no backup is sent there.
 */
async function becomesDefault(
  { defaults }: StorageContext,
  transaction: Transaction,
  row: DestinationRow,
  wanted: boolean | undefined,
): Promise<boolean> {
  if (row.status !== 'connected') return false;
  return wanted ?? (await defaults.get(transaction, row.organizationId)) === null;
}

/** The only destination, which failed its first check and works now, becomes the default like a first working one. */
async function isFirstThatWorks(
  { defaults }: StorageContext,
  transaction: Transaction,
  { organizationId, status }: DestinationRow,
): Promise<boolean> {
  if (status !== 'connected' || (await defaults.get(transaction, organizationId)) !== null) return false;
  return (await storageStore.all(transaction, organizationId)).length === 1;
}

function newDestination(
  context: StorageContext,
  organizationId: string,
  request: CreateRequest,
  newId: string | undefined,
): DestinationRow {
  const { ids, clock } = context.platform;
  const id = ids.next('dst', newId);
  const now = clock.now();
  const base = {
    id,
    organizationId,
    name: request.name,
    type: request.type,
    prefix: request.prefix,
    bucket: null,
    region: null,
    endpoint: null,
    path: null,
    forcePathStyle: false,
    objectLock: null,
    credentials: null,
    status: 'connected' as const,
    error: null,
    lastCheckedAt: null,
    lastTest: null,
    placeId: null,
    deletedAt: null,
    createdAt: now,
    updatedAt: now,
    version: 1,
  };
  if (request.type === 'local') {
    context.stores.requireLocalAllowed();
    context.stores.checkPath(organizationId, request.path);
    return { ...base, path: request.path };
  }
  const endpoint = 'endpoint' in request ? request.endpoint : undefined;
  context.stores.checkEndpoint(endpoint);
  return {
    ...base,
    bucket: request.bucket,
    region: request.region ?? null,
    endpoint: endpoint ?? null,
    forcePathStyle: 'forcePathStyle' in request ? (request.forcePathStyle ?? false) : false,
    objectLock: request.objectLock ?? null,
    credentials: sealCredentials(context, id, request.credentials),
  };
}

function sealCredentials(context: StorageContext, id: string, credentials: object): string {
  return context.platform.keyring.seal(JSON.stringify(credentials), storageCredentialsPurpose(id));
}

export async function updateStorage(
  context: StorageContext,
  caller: VersionedCaller,
  id: string,
  request: UpdateRequest,
): Promise<DestinationRow> {
  const { database, clock } = context.platform;
  const organizationId = caller.organization.id;
  const { before, expected } = await database.tenant(organizationId, async (transaction) => ({
    before: await storageStore.get(transaction, organizationId, id),
    expected: await context.dependents.expectedBackups(transaction, organizationId, id),
  }));
  const change = changeOf(context, before, request);
  const reaches =
    request.credentials !== undefined ||
    request.bucket !== undefined ||
    request.endpoint !== undefined ||
    request.region !== undefined ||
    request.forcePathStyle !== undefined ||
    request.objectLock !== undefined;
  const changed = { ...before, ...change } as DestinationRow;
  const check = reaches ? await checkStorage(context.stores, changed, clock, { expected }) : undefined;
  const keptPlaceId = isElsewhere(before, change) ? null : before.placeId;
  const placeId = check?.test.ok ? await identifyPlace(context, changed) : keptPlaceId;
  return database.tenant(organizationId, async (transaction) => {
    const row = await storageStore.lock(transaction, organizationId, id);
    caller.requireMatch(destinationEtag(row));
    if (!request.credentials) requireSamePlace(row, change);
    if (isElsewhere(row, change)) await requireNoWork(context, transaction, row);
    if (request.isDefault === true) await context.defaults.set(transaction, caller, id);
    if (request.isDefault === false && (await context.defaults.get(transaction, organizationId)) === id)
      await context.defaults.set(transaction, caller, null);
    const isAsBefore = !check && Object.keys(differences<NewDestination>(row, change)).length === 0;
    if (isAsBefore) return row;
    const updated = await storageStore.update(transaction, row, { ...change, placeId, updatedAt: clock.now() });
    const checked = check ? await recordCheck(context, transaction, updated, check) : updated;
    if (
      request.isDefault === undefined &&
      row.status === 'error' &&
      (await isFirstThatWorks(context, transaction, checked))
    )
      await context.defaults.set(transaction, caller, id);
    if (request.credentials && row.status === 'error' && checked.status === 'connected')
      await context.dependents.credentialsGiven(transaction, checked);
    await context.audit.noteCaller(transaction, caller, {
      action: 'storage.updated',
      resource: { type: 'storage_destination', id: id },
      details: {
        fields: Object.keys(request),
        status: checked.status,
      },
    });
    return checked;
  });
}

const bucketSettings = ['credentials', 'bucket', 'endpoint', 'region', 'forcePathStyle', 'objectLock'] as const;

function changeOf(context: StorageContext, row: DestinationRow, request: UpdateRequest): Partial<NewDestination> {
  const { credentials, isDefault: _, ...given } = request;
  const fields = defined(given);
  const unfit = row.type === 'local' && bucketSettings.find((name) => request[name]);
  if (unfit) throw invalid(unfit, 'is not a setting of a local folder');
  if (row.type === 'gcs' && fields.endpoint !== undefined)
    throw invalid('endpoint', 'must not be given: Google Cloud Storage has one address');
  context.stores.checkEndpoint(fields.endpoint);
  if (!credentials) {
    requireSamePlace(row, fields);
    return fields;
  }
  const isGoogle = 'serviceAccountKey' in credentials;
  if (isGoogle !== (row.type === 'gcs'))
    throw invalid('credentials', row.type === 'gcs' ? 'must be a service account key' : 'must be an access key pair');
  return { ...fields, credentials: sealCredentials(context, row.id, credentials) };
}

/**
 * Credentials may be used only for the place they were given for. To change the place, the caller must give them again.
 */
function requireSamePlace(row: DestinationRow, fields: Partial<NewDestination>): void {
  if (row.type !== 'local' && isElsewhere(row, fields))
    throw invalid('credentials', 'must be given again when endpoint, bucket or region change');
}

/** What a task or a backup has stored lies in the place where it began, and its records would name another one. */
async function requireNoWork(
  { dependents }: StorageContext,
  transaction: Transaction,
  { organizationId, id }: DestinationRow,
): Promise<void> {
  const tasks = await taskStore.openOf(transaction, organizationId, id);
  const usedBy = [
    ...tasks.map((task) => ({ type: 'storage_task', id: task.id })),
    ...(await dependents.madeIn(transaction, organizationId, id)),
  ];
  if (usedBy.length === 0) return;
  throw new Problem(
    'RESOURCE_IN_USE',
    'A task works on this destination or a backup is being made in it; turn it elsewhere when that has ended.',
    { details: { usedBy: usedBy.slice(0, 100) } },
  );
}

function isElsewhere(row: DestinationRow, fields: Partial<NewDestination>): boolean {
  return (['endpoint', 'bucket', 'region'] as const).some(
    (field) => fields[field] !== undefined && fields[field] !== row[field],
  );
}
