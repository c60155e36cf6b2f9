import { createRequire } from 'node:module';
import type { PgTable as Table, TableConfig } from 'drizzle-orm/pg-core';
import { encodeEvent, encodeJson, escapeText, unescapeText } from './json.ts';

/**
 * The one door to the query builder, in the form of files that Node need not look up a package for: its package lists so many
 * entries that their hundreds of modules took a third of the time in which a service starts.
 */
const require = createRequire(import.meta.url);
const core: typeof import('drizzle-orm') = require('drizzle-orm');
const postgres: typeof import('drizzle-orm/pg-core') = require('drizzle-orm/pg-core');
const driver: typeof import('drizzle-orm/node-postgres') = require('drizzle-orm/node-postgres');
const migrator: typeof import('drizzle-orm/node-postgres/migrator') = require('drizzle-orm/node-postgres/migrator');

export type PgTable<Config extends TableConfig = TableConfig> = Table<Config>;
export type { Placeholder, SQL, SQLWrapper } from 'drizzle-orm';
export type { NodePgDatabase } from 'drizzle-orm/node-postgres';
export type { AnyPgColumn, PgColumn, TableConfig } from 'drizzle-orm/pg-core';
export const { and, asc, desc, eq, fillPlaceholders, getTableColumns, gt, gte, inArray, is, isNotNull, isNull } = core;
export const { lt, lte, max, ne, or, sql } = core;
export const { bigint, boolean, check, customType, date, getTableConfig, index, integer } = postgres;
/** JSON that may hold any text. */
export const jsonb = customType<{ data: unknown; driverData: unknown }>({
  dataType: () => 'jsonb',
  toDriver: encodeJson,
});
/** What was told, kept as it was written. */
export const json = customType<{ data: unknown; driverData: unknown }>({
  dataType: () => 'json',
  toDriver: encodeEvent,
});
/** Text that may hold any character, such as the path of a document. */
export const anyText = customType<{ data: string; driverData: string }>({
  dataType: () => 'text',
  toDriver: escapeText,
  fromDriver: unescapeText,
});
export const { PgDialect, PgTable, pgPolicy, pgRole, pgTable, primaryKey, QueryBuilder, text, timestamp, uniqueIndex } =
  postgres;
export const { drizzle } = driver;
export const { migrate } = migrator;
