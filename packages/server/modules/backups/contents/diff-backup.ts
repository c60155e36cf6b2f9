import type { DataOf, Operations } from '@holdfast/contract';
import {
  comparePaths,
  type DocumentChange,
  diffSides,
  everything,
  type RecordBatch,
  type Scope,
  scopeContains,
  stringifyLossless,
  type View,
  viewOfChain,
  wholeDatabase,
} from '@holdfast/engine';
import { minuteMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { narrowScope } from '../scope.ts';
import { interactive, openChainOf } from './open-chain.ts';
import { presentChanged } from './present-contents.ts';

type Diff = DataOf<Operations['diffBackup']>;

export interface DiffRequest {
  organizationId: string;
  backupId: string;
  /** `live`, or a backup. */
  against: string;
  collection: string | undefined;
  limit: number;
  /** How long one page may compare. */
  seconds: number;
  /** Where the page before ended, and as of when the live database is read on all pages. */
  position: DiffPosition | undefined;
  signal: AbortSignal;
}

type PageRequest = Pick<DiffRequest, 'against' | 'collection' | 'limit' | 'seconds' | 'position' | 'signal'> & {
  /** Resolves when the next few milliseconds of comparing may begin. */
  turn(): Promise<void>;
};

export interface DiffPosition {
  after: string;
  readTime: string | null;
}

export interface DiffPage {
  data: Diff;
  next: DiffPosition | null;
}

/** The most bytes of one page. A page without a difference may be empty and still have a next page. */
const pageBytesMax = 8 * 1024 * 1024;
/**
 * All pages read the live database at the same instant, as long as that can be read: for a little less than an hour.
 */
const readTimeAgeMsMax = 50 * minuteMs;

/** What a view is compared with. */
export interface OtherSide {
  database: string;
  readTime: string | null;
  /** Beyond this scope the other side knows nothing. */
  scope: Scope | undefined;
  records(scope: Scope, after: string | undefined): AsyncIterable<RecordBatch>;
  close(): Promise<void>;
}

/** What changed from a backup to the other side, one page of it, each side read as a stream. */
export async function diffBackup(context: BackupsContext, request: DiffRequest): Promise<DiffPage> {
  const { organizationId, backupId, signal, position } = request;
  const chain = await openChainOf(context, organizationId, backupId, signal, interactive);
  try {
    const view = viewOfChain(chain.readers);
    const other =
      request.against === 'live'
        ? await openLive(
            context,
            await projectOf(context, organizationId, backupId),
            position?.readTime ?? null,
            signal,
          )
        : await openBackup(context, organizationId, request.against, signal);
    const turn = () => context.platform.cpuTurns.take(organizationId);
    return await diffView(view, other, { ...request, turn }, chain.readers.at(-1)!.body.scope);
  } finally {
    await chain.close();
  }
}

/** One page of what changed from a view, which covers a scope, to the other side, which is closed then. */
export async function diffView(
  view: View,
  other: OtherSide,
  request: PageRequest,
  covered: Scope = wholeDatabase,
): Promise<DiffPage> {
  try {
    // Outside the view's scope nothing is known.
    const scope = narrowScope(covered, request.collection);
    const page = scope
      ? await readPage(view, other, scope, request)
      : { data: { against: request.against, added: [], removed: [], changed: [], compared: 0 }, through: null };
    requireSomething(request, page);
    const next = page.through === null ? null : { after: page.through, readTime: other.readTime };
    return { data: page.data, next };
  } finally {
    await other.close();
  }
}

/** Throws COLLECTION_NOT_FOUND when neither side has anything in the collection. Two equal sides are an empty page. */
function requireSomething({ collection, position }: PageRequest, { data, through }: ReadPage): void {
  if (collection === undefined || position !== undefined || through !== null) return;
  if (data.compared + data.added.length === 0)
    throw new Problem('COLLECTION_NOT_FOUND', `There is nothing to compare in ${collection}.`);
}

/** Another backup of the project as the other side. */
export async function openBackup(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
): Promise<OtherSide> {
  const chain = await openChainOf(context, organizationId, backupId, signal, interactive);
  const view = viewOfChain(chain.readers);
  return {
    database: view.database,
    readTime: null,
    scope: chain.readers.at(-1)!.body.scope,
    records: (scope, after) => view.records({ scope, ...(after === undefined ? {} : { after }) }, { signal }),
    close: () => chain.close(),
  };
}

/** The live database as the other side, read at the instant of the previous page while that is possible. */
export async function openLive(
  { platform, sources }: BackupsContext,
  project: ProjectRow,
  lastReadTime: string | null,
  signal: AbortSignal,
): Promise<OtherSide> {
  const { source, close } = await sources.open(project);
  try {
    const isReachable =
      lastReadTime !== null && platform.clock.now().getTime() - Date.parse(lastReadTime) < readTimeAgeMsMax;
    const readTime = isReachable ? lastReadTime : await source.snapshotTime({ signal });
    return {
      database: source.database,
      readTime,
      scope: undefined,
      records: (scope, after) =>
        source.scan(everything, { scope, readTime, signal, ...(after === undefined ? {} : { after }) }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function projectOf({ platform }: BackupsContext, organizationId: string, backupId: string): Promise<ProjectRow> {
  return platform.database.tenant(organizationId, async (transaction) => {
    const { projectId } = await backupStore.get(transaction, organizationId, backupId);
    return projectStore.get(transaction, organizationId, projectId);
  });
}

/** Thrown by a side when the time of the page is over; everything up to the path was compared. */
class TimeIsUp extends Error {
  readonly through: string;
  constructor(through: string) {
    super('the page is as long as it may take');
    this.through = through;
  }
}

/** A side is asked for the next batch only after the last one was compared, so the page may end between two batches. */
async function* within(
  records: AsyncIterable<RecordBatch>,
  deadlineMs: number,
  turn: () => Promise<void>,
): AsyncGenerator<RecordBatch> {
  let through: string | undefined;
  for await (const batch of records) {
    if (through !== undefined && performance.now() > deadlineMs) throw new TimeIsUp(through);
    await turn();
    yield batch;
    through = batch.lastPath;
  }
}

interface ReadPage {
  data: Diff;
  /** Where it was cut off. */
  through: string | null;
}

async function readPage(
  view: View,
  other: OtherSide,
  scope: Scope,
  { limit, seconds, position, against, signal, turn }: PageRequest,
): Promise<ReadPage> {
  const data: Diff = { against, added: [], removed: [], changed: [], compared: 0 };
  const deadlineMs = performance.now() + seconds * 1000;
  const after = position?.after;
  const here = view.records({ scope, ...(after === undefined ? {} : { after }) }, { signal });
  const isPast = (path: string) => after !== undefined && comparePaths(path, after) <= 0;
  const changes = diffSides(
    { database: view.database, records: within(here, deadlineMs, turn) },
    { database: other.database, records: within(other.records(scope, after), deadlineMs, turn) },
    (path) => {
      if (data.compared > 0 || !isPast(path)) data.compared++;
    },
  );
  let count = 0;
  let bytes = 0;
  let last = '';
  try {
    for await (const change of changes) {
      if (isPast(change.path) || (other.scope && !scopeContains(other.scope, change.path))) continue;
      if (count === limit || bytes > pageBytesMax) return { data, through: last };
      bytes += add(data, change, view.body?.snapshotTime ?? '');
      count++;
      last = change.path;
    }
    return { data, through: null };
  } catch (error) {
    if (error instanceof TimeIsUp) return { data, through: error.through };
    throw error;
  }
}

function add(data: Diff, change: DocumentChange, snapshotTime: string): number {
  if (change.kind === 'changed') {
    data.changed.push(presentChanged(change));
    return stringifyLossless(change).length;
  }
  data[change.kind].push({ path: change.path, updateTime: change.updateTime ?? snapshotTime });
  return change.path.length;
}
