import { viewOfChain } from '@holdfast/engine';
import type { Handlers } from '../../../http/call.ts';
import { pageOf } from '../../../platform/cursor.ts';
import { Problem } from '../../../platform/problem.ts';
import { toProblem } from '../../job-error.ts';
import type { BackupsContext } from '../context.ts';
import { readDocuments } from './browse-documents.ts';
import { type DiffPosition, diffBackup } from './diff-backup.ts';
import { exportBackup } from './export-backup.ts';
import { interactive, type OpenedChain, openChainOf } from './open-chain.ts';
import { presentCollections, presentDocument } from './present-contents.ts';

/** Looking inside a backup without restoring it. */
export function contentsHandlers(context: BackupsContext): Handlers {
  const { cursors } = context.platform;

  /** Whatever happens, the chain is closed; what source and storage do is told as the API tells it. */
  async function reading<Result>(
    organizationId: string,
    backupId: string,
    signal: AbortSignal,
    work: (chain: OpenedChain) => Promise<Result>,
  ): Promise<Result> {
    try {
      const chain = await openChainOf(context, organizationId, backupId, signal, interactive);
      try {
        return await work(chain);
      } finally {
        await chain.close();
      }
    } catch (error) {
      throw toProblem(error);
    }
  }

  return {
    listBackupCollections: ({ organization, params: { backupId }, query, signal }) =>
      reading(organization.id, backupId, signal, async ({ readers }) => {
        const roots = presentCollections(readers.at(-1)!.body.collections);
        const after = cursors.read('backup-collections', backupId, query.cursor);
        const start = after === undefined ? 0 : roots.findIndex(({ path }) => path === after) + 1;
        const page = pageOf(roots.slice(start, start + query.limit + 1), query.limit, ({ path }) =>
          cursors.write('backup-collections', backupId, path),
        );
        return { data: page.rows, nextCursor: page.nextCursor };
      }),

    listBackupDocuments: ({ organization, params: { backupId }, query, signal }) =>
      reading(organization.id, backupId, signal, async ({ readers }) => {
        const { collection, prefix, limit } = query;
        const bound = [backupId, collection, prefix];
        const after = cursors.read('backup-documents', bound, query.cursor);
        const page = await readDocuments(viewOfChain(readers), {
          limit,
          signal,
          ...(collection === undefined ? {} : { collection }),
          ...(prefix === undefined ? {} : { prefix }),
          ...(after === undefined ? {} : { after }),
        });
        const last = page.documents.at(-1);
        const nextCursor = page.hasMore && last ? cursors.write('backup-documents', bound, last.path) : null;
        return { data: page.documents, nextCursor };
      }),

    getBackupDocument: ({ organization, params: { backupId, documentPath }, signal }) =>
      reading(organization.id, backupId, signal, async ({ readers }) => {
        const segments = documentPath.split('/');
        const isPath = segments.length % 2 === 0 && segments.every((segment) => segment !== '');
        const view = viewOfChain(readers);
        const body = isPath ? await view.get(documentPath, { signal }) : undefined;
        if (!body) throw new Problem('DOCUMENT_NOT_FOUND', 'The backup holds no such document.');
        return { data: presentDocument(documentPath, body, view.body?.snapshotTime ?? '') };
      }),

    diffBackup: async ({ organization, params: { backupId }, query, signal }) => {
      const { against, collection, limit } = query;
      const bound = [backupId, against, collection];
      const cursor = cursors.read('backup-diff', bound, query.cursor);
      const position = cursor === undefined ? undefined : (JSON.parse(cursor) as DiffPosition);
      try {
        const request = { organizationId: organization.id, backupId, against, collection, limit, position, signal };
        const { data, next } = await diffBackup(context, request);
        return { data, nextCursor: next && cursors.write('backup-diff', bound, JSON.stringify(next)) };
      } catch (error) {
        throw toProblem(error);
      }
    },

    exportBackup: async ({ organization, params: { backupId }, query, signal }) => {
      try {
        return {
          stream: await exportBackup(context, organization.id, backupId, query.collection, signal),
          contentType: 'application/x-ndjson',
          headers: { 'content-disposition': `attachment; filename="${backupId}.ndjson"` },
        };
      } catch (error) {
        throw toProblem(error);
      }
    },
  };
}
