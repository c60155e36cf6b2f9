import {
  everything,
  instantFromDate,
  isEngineError,
  openScratch,
  readRecords,
  sortRecords,
  toWholeMinute,
  View,
  wholeDatabase,
} from '@holdfast/engine';
import { dayMs, minuteMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { laterOf } from '../coverage.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';

/** How long the source keeps whole minutes. */
const sourceKeepsMs = 7 * dayMs;

/** The first whole minute that can be read from the source itself; null when it keeps none. */
function minutesFrom({ sourceKeepsFrom }: Pick<LogRow, 'sourceKeepsFrom'>, now: Date): string | null {
  if (sourceKeepsFrom === null) return null;
  return laterOf(sourceKeepsFrom, instantFromDate(new Date(now.getTime() - sourceKeepsMs)));
}

/** The nearest whole minutes around an instant that the source keeps. */
export function minutesAround(
  instant: string,
  row: Pick<LogRow, 'sourceKeepsFrom'>,
  now: Date,
): { before: string | null; after: string | null } {
  const from = minutesFrom(row, now);
  if (from === null) return { before: null, after: null };
  const isKept = (minute: string) => minute >= from && minute <= instantFromDate(now);
  const before = toWholeMinute(instant);
  const after = before === instant ? instant : toWholeMinute(instantFromDate(new Date(Date.parse(before) + minuteMs)));
  return { before: isKept(before) ? before : null, after: isKept(after) ? after : null };
}

export interface SourceView {
  readonly view: View;
  close(): Promise<void>;
}

/** The whole database at a minute, read from the source: one read per document. */
export async function openMinute(
  context: PitrContext,
  row: LogRow,
  instant: string,
  signal: AbortSignal,
): Promise<SourceView> {
  const { organizationId, projectId } = row;
  const { database } = context.backups.platform;
  const project = await database.tenant(organizationId, (transaction) =>
    projectStore.get(transaction, organizationId, projectId),
  );
  const { source, close } = await context.backups.sources.open(project);
  const scratch = await openScratch();
  try {
    const options = { readTime: instant, scope: wholeDatabase, signal };
    const expected = await source.count(everything, options);
    let read = 0;
    const batches = async function* () {
      for await (const batch of source.scan(everything, options)) {
        read += batch.count;
        yield readRecords(batch, source.database);
      }
    };
    const { codec } = context.backups.engine;
    const layers = await sortRecords(batches(), { database: source.database, scratch: scratch.store, codec, signal });
    if (read !== expected) throw gone(instant);
    return { view: new View(source.database, layers), close: scratch.remove };
  } catch (error) {
    await scratch.remove();
    throw isEngineError(error, 'SNAPSHOT_TOO_OLD') ? gone(instant) : error;
  } finally {
    await database.tenant(organizationId, (transaction) =>
      pitrStore.addReads(transaction, row, source.usage.documentsRead),
    );
    await close();
  }
}

function gone(instant: string): Problem {
  return new Problem(
    'POINT_IN_TIME_UNAVAILABLE',
    `${instant} lies in a gap, and the database does not show it either.`,
    {
      details: { before: null, after: null },
    },
  );
}
