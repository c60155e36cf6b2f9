import { instant, organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import { index, jsonb, pgTable, sql, text, uniqueIndex } from '../../platform/database/orm.ts';
import { organizations } from '../organizations/tables.ts';

/** What people are told of by mail, by the names of the settings. */
export type TroubleKind = 'backup.failed' | 'schedule.failed' | 'backup.anomaly' | 'pitr.stopped' | 'storage.error';

/** What a mail says of a trouble, in sentences. */
export interface TroubleWords {
  /** `The nightly backup of Shop failed` */
  title: string;
  /** What happened, as far as is known. */
  detail: string;
  /** What a person can do. */
  advice: string;
  /** The page that shows it, below the address of the service. */
  page: string;
  /** Minutes count: it waits for no other mail. */
  isUrgent?: boolean;
  /** Mails to addresses of no member that were sent when it was told, noted at one of those that were told together. */
  mailsOutside?: number;
}

/** Something that goes wrong, from when it began until it is over. */
export const troubles = pgTable(
  'troubles',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    kind: text('kind').$type<TroubleKind>().notNull(),
    /** What it is about: a schedule, a project, a destination. */
    subjectId: text('subject_id').notNull(),
    words: jsonb('words').$type<TroubleWords>().notNull(),
    beganAt: instant('began_at').notNull(),
    endedAt: instant('ended_at'),
    beginToldAt: instant('begin_told_at'),
    endToldAt: instant('end_told_at'),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    uniqueIndex('troubles_one_open')
      .on(table.organizationId, table.kind, table.subjectId)
      .where(sql`${table.endedAt} is null`),
    index('troubles_untold')
      .on(table.organizationId, table.beganAt)
      .where(sql`${table.beginToldAt} is null or (${table.endedAt} is not null and ${table.endToldAt} is null)`),
    index('troubles_by_age').on(table.endedAt),
  ],
).enableRLS();
