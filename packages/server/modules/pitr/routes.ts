import { wholeDatabase } from '@holdfast/engine';
import type { Handlers } from '../../http/call.ts';
import { ConcurrencyLimit } from '../../platform/concurrency-limit.ts';
import { pageOf } from '../../platform/cursor.ts';
import type { Transaction } from '../../platform/database/database.ts';
import { dayMs, later } from '../../platform/durations.ts';
import { Problem } from '../../platform/problem.ts';
import type { DiffPosition } from '../backups/index.ts';
import {
  collectionsOf,
  diffView,
  exportView,
  pageOfCollections,
  pageOfDocuments,
  presentCollections,
  presentDocument,
  searchFilters,
  withOpened,
} from '../backups/index.ts';
import { toProblem } from '../job-error.ts';
import { projectStore } from '../projects/index.ts';
import type { PitrContext } from './context.ts';
import { coverageOfLog } from './coverage.ts';
import { disablePitr } from './disable-pitr.ts';
import { enablePitr } from './enable-pitr.ts';
import { documentHistory } from './past/document-history.ts';
import { knownVersions, type VersionsPosition } from './past/known-versions.ts';
import { isDocumentPath, openLive } from './past/live-document.ts';
import { type OpenedPast, openPast, otherSide } from './past/open-past.ts';
import { pitrStore } from './pitr-store.ts';
import { type PitrView, presentPitr, presentStopped } from './present-pitr.ts';
import { segmentStore } from './segment-store.ts';

const figuresDays = 7;
/** Each sorts what was captured since a base, or reads the whole database: many together would fill memory and disk. */
const viewsMax = 16;

const minutesAround = (transaction: Transaction, logId: string, at: Date) =>
  segmentStore.minutesBetween(transaction, logId, later(at, -dayMs / 2), later(at, dayMs / 2));

export function pitrHandlers(context: PitrContext, onSwitched: () => void): Handlers {
  const { database, clock, cursors } = context.backups.platform;

  const show = (organizationId: string, projectId: string, around?: string): Promise<PitrView> =>
    database.tenant(organizationId, async (transaction) => {
      await projectStore.get(transaction, organizationId, projectId);
      const row = await pitrStore.find(transaction, organizationId, projectId);
      if (!row) return presentStopped();
      const now = clock.now();
      const since = new Date(now.getTime() - figuresDays * dayMs);
      const figures = await segmentStore.figures(transaction, row.logId, since);
      const minutes = around === undefined ? [] : await minutesAround(transaction, row.logId, new Date(around));
      return presentPitr(row, await coverageOfLog(transaction, row), { ...figures, minutes }, now);
    });

  return {
    getPitr: async ({ organization, params, query }) => ({
      data: await show(organization.id, params.projectId, query.around),
    }),

    enablePitr: async (call) => {
      await enablePitr(context, call, call.params.projectId, call.body ?? {}, call.signal);
      onSwitched();
      return { data: await show(call.organization.id, call.params.projectId) };
    },

    disablePitr: async (call) => {
      await disablePitr(context, call, call.params.projectId, call.body?.deleteLog ?? false);
      onSwitched();
      return { data: await show(call.organization.id, call.params.projectId) };
    },

    listDocumentHistory: async ({ organization, params: { projectId }, query, signal }) => {
      const bound = [projectId, query.document];
      const before = cursors.read('pitr-history', bound, query.cursor) ?? null;
      try {
        const { document: path, limit } = query;
        const request = { organizationId: organization.id, projectId, path, before, limit, signal };
        const versions = await documentHistory(context, request);
        const page = pageOf(versions, limit, ({ time }) => cursors.write('pitr-history', bound, time));
        const data = page.rows.map(({ time, bytes }) =>
          bytes === undefined
            ? { time, kind: 'delete' as const, fields: null }
            : { time, kind: 'put' as const, fields: presentDocument(path, bytes, time).fields },
        );
        return { data, nextCursor: page.nextCursor };
      } catch (error) {
        throw toProblem(error);
      }
    },

    listDocumentVersions: async ({ organization, params: { projectId }, query, signal }) => {
      const bound = [projectId, query.document];
      const cursor = cursors.read('document-versions', bound, query.cursor);
      const position = cursor === undefined ? undefined : (JSON.parse(cursor) as VersionsPosition);
      try {
        const { document: path, limit } = query;
        const request = { organizationId: organization.id, projectId, path, limit, position, signal };
        const { versions, next, unreadable } = await knownVersions(context, request);
        const nextCursor = next && cursors.write('document-versions', bound, JSON.stringify(next));
        return { data: versions, nextCursor, beside: unreadable.length > 0 ? { unreadable } : {} };
      } catch (error) {
        throw toProblem(error);
      }
    },
    ...viewHandlers(context),
  };
}

/** Looking at a moment before restoring it. */
function viewHandlers(context: PitrContext): Handlers {
  const { cursors, cpuTurns } = context.backups.platform;
  const opened = new ConcurrencyLimit('views of a past moment', viewsMax);

  const readPast = <Result>(
    organizationId: string,
    projectId: string,
    at: string,
    signal: AbortSignal,
    work: (past: OpenedPast) => Promise<Result>,
  ) =>
    opened.run(organizationId, () =>
      withOpened(() => openPast(context, { organizationId, projectId, at, signal, attemptsMax: 4 }), work),
    );

  return {
    getProjectDocument: ({ organization, params: { projectId, documentPath: path }, query, signal }) => {
      const find = (body: Uint8Array | undefined, at: string) => {
        if (!body) throw new Problem('DOCUMENT_NOT_FOUND', 'There is no such document at that time.');
        return { data: presentDocument(path, body, at) };
      };
      if (query.at === undefined)
        return withOpened(
          () => openLive(context, organization.id, projectId, signal),
          async (live) => find(await live.get(path), live.readTime),
        );
      return readPast(organization.id, projectId, query.at, signal, async ({ view, instant }) =>
        find(isDocumentPath(path) ? await view.get(path, { signal }) : undefined, instant),
      );
    },

    viewPitrCollections: ({ organization, params: { projectId }, query, signal }) =>
      readPast(organization.id, projectId, query.at, signal, async ({ view }) => {
        const collections = presentCollections(await collectionsOf(view, signal));
        const filters = [projectId, query.at];
        return pageOfCollections(cursors, { list: 'pitr-collections', filters, ...query }, collections);
      }),

    viewPitrDocuments: ({ organization, params: { projectId }, query, signal }) =>
      readPast(organization.id, projectId, query.at, signal, async ({ view, instant }) => {
        const filters = [projectId, instant, query.collection, query.prefix, ...searchFilters(query.search)];
        const page = { list: 'pitr-documents', filters, ...query };
        const past = { name: `The database at ${instant}`, view, turn: () => cpuTurns.take(organization.id) };
        return await pageOfDocuments(cursors, page, past, query, signal);
      }),

    exportPitr: async ({ organization, params: { projectId }, query, signal }) => {
      try {
        const request = { organizationId: organization.id, projectId, at: query.at, signal, attemptsMax: 4 };
        const { view, instant, close } = await opened.run(organization.id, () => openPast(context, request));
        const what = { name: `The database at ${instant}`, view, scope: wholeDatabase, close };
        const stream = await exportView(context.backups, organization.id, what, query.collection, signal);
        const filename = `${projectId}-${instant.replaceAll(':', '')}.ndjson`;
        return {
          stream,
          contentType: 'application/x-ndjson',
          headers: { 'content-disposition': `attachment; filename="${filename}"` },
        };
      } catch (error) {
        throw toProblem(error);
      }
    },

    viewPitrDiff: ({ organization, params: { projectId }, query, signal }) =>
      readPast(organization.id, projectId, query.at, signal, async ({ view, instant }) => {
        const { against, collection, limit, seconds } = query;
        const bound = [projectId, instant, against, collection];
        const cursor = cursors.read('pitr-diff', bound, query.cursor);
        const position = cursor === undefined ? undefined : (JSON.parse(cursor) as DiffPosition);
        const organizationId = organization.id;
        const other = await otherSide(context, { organizationId, projectId, at: against, signal }, position);
        const turn = () => cpuTurns.take(organizationId);
        const request = { against, collection, limit, seconds, position, signal, turn };
        const { data, next } = await diffView(view, other, request);
        return { data, nextCursor: next && cursors.write('pitr-diff', bound, JSON.stringify(next)) };
      }),
  };
}
