import { instant, organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import { index, jsonb, pgTable, sql, text, uniqueIndex } from '../../platform/database/orm.ts';
import { organizations } from '../organizations/tables.ts';

/** Kinds of troubles that are mailed, by the names of the settings. */
export type TroubleKind = 'backup.failed' | 'schedule.failed' | 'backup.anomaly' | 'pitr.stopped' | 'storage.error';

/** The sentences of a mail about a trouble. */
export interface TroubleWords {
  /** `The nightly backup of Shop failed` */
  title: string;
  /** What happened, as far as is known. */
  detail: string;
  /** What a person can do. */
  advice: string;
  /** The page that shows it, below the address of the service. */
  page: string;
  /** Sent at once, without collecting. */
  isUrgent?: boolean;
  /** How many mails to outside addresses this trouble caused; saved at one of the troubles of a common mail. */
  mailsOutside?: number;
}

/** Something that is wrong, from its beginning until it is over. */
export const troubles = pgTable(
  'troubles',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    kind: text('kind').$type<TroubleKind>().notNull(),
    /** The schedule, project or destination that it is about. */
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
