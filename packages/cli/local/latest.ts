import {
  type BlobStore,
  type CatalogueEntry,
  EngineError,
  type KeyRing,
  listBackups,
  type ManifestBody,
  type SegmentCodec,
} from '@holdfast/engine';

export const latestArgument = ['<backup>', 'id, latest, or latest:<project> where several lie in the store'] as const;

interface OpenedStore {
  readonly store: BlobStore;
  readonly keys: KeyRing;
  readonly codec: SegmentCodec;
  readonly signal: AbortSignal;
}

/**
 * The newest backup of a whole database, by the time of its data. Partial backups, safety backups and imported files do
 * not count. A store may contain several databases, and only one of them can be meant.
 */
export async function latestId({ store, keys, codec, signal }: OpenedStore, project: string): Promise<string> {
  const newest = new Map<string, { backupId: string; snapshotTime: string; createdAt: string }>();
  const unread: CatalogueEntry[] = [];
  let unopened = 0;
  let opened = 0;
  for await (const entry of listBackups(store, keys, codec, { signal })) {
    const { backupId, body, problem } = entry;
    if (problem !== null) unread.push(entry);
    if (problem?.code === 'DECRYPTION_ERROR') unopened++;
    if (body !== null) opened++;
    if (body === null || !isWhole(body) || !isOf(body.database, project)) continue;
    const known = newest.get(body.database);
    if (known === undefined || body.snapshotTime > known.snapshotTime)
      newest.set(body.database, { backupId, snapshotTime: body.snapshotTime, createdAt: body.createdAt });
  }
  if (newest.size > 1) throw severalDatabases([...newest.keys()]);
  const [found] = newest.values();
  if (found !== undefined) {
    warnAboutNewer(unread, found);
    return found.backupId;
  }
  const whose = project === '' ? '' : ` of ${project}`;
  if (unopened > 0 && opened > 0)
    throw new EngineError(
      'DECRYPTION_ERROR',
      `Of the ${opened} backups in ${store.location} that this key opens none is a whole one${whose}; ${unopened} others need another key.`,
    );
  if (unopened > 0)
    throw new EngineError(
      'DECRYPTION_ERROR',
      `${unopened} backups lie in ${store.location}; this key opens none of them.`,
    );
  throw new EngineError(
    'STORAGE_NOT_FOUND',
    `There is no whole backup${whose} in ${store.location}; \`local list\` shows what there is.`,
  );
}

/** A newer damaged backup, or one under another key, may be the one that is meant, so it is mentioned. */
function warnAboutNewer(unread: readonly CatalogueEntry[], chosen: { backupId: string; createdAt: string }): void {
  const newer = unread.filter(({ createdAt }) => createdAt === null || createdAt > chosen.createdAt);
  const damaged = newer.find(({ problem }) => problem?.code !== 'DECRYPTION_ERROR');
  if (damaged)
    throw new EngineError(
      'INTEGRITY_ERROR',
      `${damaged.backupId} is newer than ${chosen.backupId} and damaged (${damaged.problem?.message}). Name a backup by its id.`,
    );
  if (newer.length > 0)
    process.stderr.write(
      `${chosen.backupId} is the newest that this key opens; ${newer.length === 1 ? 'a newer one needs' : `${newer.length} newer ones need`} another key: ${newer
        .slice(0, 3)
        .map(({ backupId }) => backupId)
        .join(', ')}${newer.length > 3 ? ', …' : ''}\n`,
    );
}

function isWhole({ scope, isSafety, importedFrom }: ManifestBody): boolean {
  const { collections, documents, excludeCollections, includeSubcollections } = scope;
  const isOfAll = collections === 'all' && documents === undefined && excludeCollections.length === 0;
  return isOfAll && includeSubcollections && !isSafety && importedFrom === undefined;
}

/** `shop`, `shop/reports` for another database of it, or `projects/shop/databases/reports`. */
function isOf(database: string, project: string): boolean {
  const [, id, , name] = database.split('/');
  return project === '' || project === id || project === `${id}/${name}` || project === database;
}

function severalDatabases(databases: readonly string[]): EngineError {
  const choices = databases.map((database) => {
    const [, id, , name] = database.split('/');
    const isAlone = databases.filter((other) => isOf(other, id ?? '')).length === 1;
    return `latest:${id}${name === '(default)' && isAlone ? '' : `/${name}`}`;
  });
  return new EngineError(
    'VALIDATION_ERROR',
    `The store holds several databases; say which one: ${choices.join(', ')}.`,
  );
}
