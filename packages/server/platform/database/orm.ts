import { createRequire } from 'node:module';
import type { PgTable as Table, TableConfig } from 'drizzle-orm/pg-core';
import { encodeEvent, encodeJson, escapeText, unescapeText } from './json.ts';

/**
 * The only import of the query builder, by file so that Node need not resolve a package: its package lists so many
 * entries that its hundreds of modules took a third of the service's start.
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
/** JSON whose texts may contain any character. */
export const jsonb = customType<{ data: unknown; driverData: unknown }>({
  dataType: () => 'jsonb',
  toDriver: encodeJson,
});
/** An event, kept as it was written. */
export const json = customType<{ data: unknown; driverData: unknown }>({
  dataType: () => 'json',
  toDriver: encodeEvent,
});
/** Text with any characters, such as the path of a document. */
export const anyText = customType<{ data: string; driverData: string }>({
  dataType: () => 'text',
  toDriver: escapeText,
  fromDriver: unescapeText,
});
export const { PgDialect, PgTable, pgPolicy, pgRole, pgTable, primaryKey, QueryBuilder, text, timestamp, uniqueIndex } =
  postgres;
export const { drizzle } = driver;
export const { migrate } = migrator;
