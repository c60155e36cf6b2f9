import type { Transaction } from '../../platform/database/database.ts';
import {
  and,
  asc,
  eq,
  inArray,
  isNotNull,
  isNull,
  lte,
  ne,
  or,
  type Placeholder,
  type SQL,
  sql,
} from '../../platform/database/orm.ts';
import { pagesOf } from '../../platform/database/pages.ts';
import { rowsWhere } from '../../platform/database/statement.ts';
import { Problem } from '../../platform/problem.ts';
import { isActiveOrganizationSql, isDefaultStorageSql } from '../organizations/index.ts';
import { storageDestinations } from './tables.ts';

export type DestinationRow = typeof storageDestinations.$inferSelect;
export type NewDestination = typeof storageDestinations.$inferInsert;

const manyDestinations = rowsWhere(
  storageDestinations,
  and(
    eq(storageDestinations.organizationId, sql.placeholder('organizationId')),
    sql`${storageDestinations.id} = any(${sql.placeholder('ids')})`,
  ),
);
const byId = is(sql.placeholder('organizationId'), sql.placeholder('id'));
const oneDestination = rowsWhere(storageDestinations, byId);
const oneLocked = rowsWhere(storageDestinations, byId, { lock: 'update' });
const oneHeld = rowsWhere(storageDestinations, byId, { lock: 'key share' });

/** What other records show of a destination. */
export type StorageSummary = Pick<DestinationRow, 'id' | 'name' | 'type'>;

/**
 * The summary of the destination that these columns name, to be read with their row. Removed destinations have one too.
 */
export function storageSummarySql(organizationId: string, id: string) {
  return sql.raw(`(select jsonb_build_object('id', d.id, 'name', d.name, 'type', d.type) from storage_destinations d
    where d.organization_id = ${organizationId} and d.id = ${id})`) as SQL<StorageSummary | null>;
}

export type OpenableDestination = Pick<
  DestinationRow,
  | 'id'
  | 'organizationId'
  | 'type'
  | 'bucket'
  | 'region'
  | 'endpoint'
  | 'prefix'
  | 'path'
  | 'forcePathStyle'
  | 'credentials'
  | 'placeId'
>;

/** All SQL on the destinations of an organization. */
export const storageStore = {
  async insert({ orm }: Transaction, row: NewDestination): Promise<void> {
    await orm.insert(storageDestinations).values(row);
  },

  async count({ orm }: Transaction, organizationId: string): Promise<number> {
    const { organizationId: owner, deletedAt } = storageDestinations;
    return orm.$count(storageDestinations, and(eq(owner, organizationId), isNull(deletedAt)));
  },

  page: pagesOf(storageDestinations, { always: isNull(storageDestinations.deletedAt) }),

  async get(transaction: Transaction, organizationId: string, id: string): Promise<DestinationRow> {
    return found(await storageStore.find(transaction, organizationId, id));
  },

  async find({ client }: Transaction, organizationId: string, id: string): Promise<DestinationRow | undefined> {
    const [row] = await client.read(oneDestination, { organizationId, id });
    return row;
  },

  /**
   * Keeps the destination from being removed until the transaction ends. Used by whoever writes a record that names it.
   */
  async hold(transaction: Transaction, organizationId: string, id: string): Promise<DestinationRow> {
    return found(await storageStore.findHeld(transaction, organizationId, id));
  },

  async findHeld({ client }: Transaction, organizationId: string, id: string): Promise<DestinationRow | undefined> {
    const [row] = await client.read(oneHeld, { organizationId, id });
    return row;
  },

  async many({ client }: Transaction, organizationId: string, ids: readonly string[]): Promise<DestinationRow[]> {
    return ids.length === 0 ? [] : client.read(manyDestinations, { organizationId, ids });
  },

  /** The ids of these destinations and of all other records of their places. */
  async recordsOfPlaces({ client }: Transaction, organizationId: string, ids: readonly string[]): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      `select id from storage_destinations where organization_id = $1 and (id = any($2) or place_id in
         (select place_id from storage_destinations where organization_id = $1 and id = any($2)))`,
      [organizationId, [...ids]],
    );
    return rows.map(({ id }) => id);
  },

  /** Locks these places, so that nobody else begins anything there until the transaction ends. */
  async lockPlaces(transaction: Transaction, organizationId: string, ids: readonly string[]): Promise<void> {
    const records = await storageStore.recordsOfPlaces(transaction, organizationId, ids);
    await transaction.client.query(
      'select 1 from storage_destinations where organization_id = $1 and id = any($2) order by id for update',
      [organizationId, records],
    );
  },

  /** Which of them exist, in any organization. */
  async existing(
    { orm }: Transaction,
    ids: readonly string[],
  ): Promise<{ id: string; organizationId: string; placeId: string | null }[]> {
    const { id, organizationId, placeId } = storageDestinations;
    return orm
      .select({ id, organizationId, placeId })
      .from(storageDestinations)
      .where(and(inArray(storageDestinations.id, [...ids]), isNull(storageDestinations.deletedAt)));
  },

  /** What is needed to open these destinations, also of an organization that is about to be removed. */
  async openable(
    transaction: Transaction,
    organizationId: string,
    ids: readonly string[],
  ): Promise<OpenableDestination[]> {
    const rows = await storageStore.many(transaction, organizationId, ids);
    return rows.map(({ id, type, bucket, region, endpoint, prefix, path, forcePathStyle, credentials, placeId }) => ({
      id,
      organizationId,
      type,
      bucket,
      region,
      endpoint,
      prefix,
      path,
      forcePathStyle,
      credentials,
      placeId,
    }));
  },

  /** In all organizations; for a system transaction. */
  async manyAnywhere({ orm }: Transaction, ids: readonly string[]): Promise<DestinationRow[]> {
    if (ids.length === 0) return [];
    return orm
      .select()
      .from(storageDestinations)
      .where(inArray(storageDestinations.id, [...ids]));
  },

  /** Destinations of other organizations with the same bucket and prefix, as after a move. For a system transaction. */
  async ofOthersAt(
    { orm }: Transaction,
    { organizationId, bucket, prefix }: Pick<OpenableDestination, 'organizationId' | 'bucket' | 'prefix'>,
  ): Promise<string[]> {
    if (bucket === null) return [];
    const { id, organizationId: owner, bucket: itsBucket, prefix: itsPrefix } = storageDestinations;
    const rows = await orm
      .select({ id })
      .from(storageDestinations)
      .where(and(eq(itsBucket, bucket), eq(itsPrefix, prefix), ne(owner, organizationId)));
    return rows.map((row) => row.id);
  },

  /** Every one that is not deleted. */
  async all({ orm }: Transaction, organizationId: string): Promise<DestinationRow[]> {
    return orm
      .select()
      .from(storageDestinations)
      .where(and(eq(storageDestinations.organizationId, organizationId), isNull(storageDestinations.deletedAt)));
  },

  /** Deleted destinations that can still be opened: folders that worked once, which need no credentials. */
  async removedFolders({ orm }: Transaction, organizationId: string): Promise<{ id: string }[]> {
    const { id, organizationId: owner, deletedAt, type, placeId } = storageDestinations;
    return orm
      .select({ id })
      .from(storageDestinations)
      .where(and(eq(owner, organizationId), isNotNull(deletedAt), eq(type, 'local'), isNotNull(placeId)));
  },

  /** Destinations where keys of any organization may be stored and can be reached. For a system transaction. */
  async holdingKeys({ orm }: Transaction): Promise<DestinationRow[]> {
    const { deletedAt, type, placeId } = storageDestinations;
    const isRemovedFolder = and(eq(type, 'local'), isNotNull(placeId));
    return orm
      .select()
      .from(storageDestinations)
      .where(or(isNull(deletedAt), isRemovedFolder));
  },

  async lock({ client }: Transaction, organizationId: string, id: string): Promise<DestinationRow> {
    const [row] = await client.read(oneLocked, { organizationId, id });
    return found(row);
  },

  async update({ orm }: Transaction, row: DestinationRow, change: Partial<NewDestination>): Promise<DestinationRow> {
    const [updated] = await orm
      .update(storageDestinations)
      .set({ ...change, version: row.version + 1 })
      .where(and(eq(storageDestinations.organizationId, row.organizationId), eq(storageDestinations.id, row.id)))
      .returning();
    return found(updated);
  },

  /**
   * Destinations that were not checked since then: the oldest of each organization, then the next, so that one
   * organization with many does not delay the others. For a system transaction.
   */
  async unchecked({ orm }: Transaction, since: Date, limit: number): Promise<{ id: string; organizationId: string }[]> {
    const { lastCheckedAt, organizationId } = storageDestinations;
    const oldestFirst = sql`${asc(lastCheckedAt)} nulls first`;
    return orm
      .select({ id: storageDestinations.id, organizationId: storageDestinations.organizationId })
      .from(storageDestinations)
      .where(
        and(
          isNull(storageDestinations.deletedAt),
          sql.raw(isActiveOrganizationSql('storage_destinations.organization_id')),
          or(isNull(lastCheckedAt), lte(lastCheckedAt, since)),
        ),
      )
      .orderBy(sql`row_number() over (partition by ${organizationId} order by ${oldestFirst})`, oldestFirst)
      .limit(limit);
  },

  /** Whether the default destination of any organization does not work at present. For a system transaction. */
  async isAnyDefaultBroken({ orm }: Transaction): Promise<boolean> {
    const isBroken = and(isNull(storageDestinations.deletedAt), eq(storageDestinations.status, 'error'));
    const found = await orm
      .select({ id: storageDestinations.id })
      .from(storageDestinations)
      .where(and(isBroken, sql.raw(isDefaultStorageSql('storage_destinations.id'))))
      .limit(1);
    return found.length > 0;
  },
};

function is(organizationId: string | Placeholder, id: string | Placeholder) {
  return and(
    eq(storageDestinations.organizationId, organizationId),
    eq(storageDestinations.id, id),
    isNull(storageDestinations.deletedAt),
  );
}

function found(row: DestinationRow | undefined): DestinationRow {
  if (!row)
    throw new Problem('STORAGE_DESTINATION_NOT_FOUND', 'There is no such storage destination in this organization.');
  return row;
}

export function destinationEtag(row: DestinationRow): string {
  return `"${row.id}-${row.version}"`;
}
