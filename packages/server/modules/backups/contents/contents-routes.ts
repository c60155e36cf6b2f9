import { viewOfChain } from '@holdfast/engine';
import type { Handlers } from '../../../http/call.ts';
import { Problem } from '../../../platform/problem.ts';
import { toProblem } from '../../job-error.ts';
import type { BackupsContext } from '../context.ts';
import { pageOfCollections, pageOfDocuments, searchFilters, withOpened } from './content-pages.ts';
import { type DiffPosition, diffBackup } from './diff-backup.ts';
import { exportBackup } from './export-backup.ts';
import { interactive, type OpenedChain, openChainOf } from './open-chain.ts';
import { presentCollections, presentDocument } from './present-contents.ts';

/** Looking inside a backup without restoring it. */
export function contentsHandlers(context: BackupsContext): Handlers {
  const { cursors, cpuTurns } = context.platform;

  const readChain = <Result>(
    organizationId: string,
    backupId: string,
    signal: AbortSignal,
    work: (chain: OpenedChain) => Promise<Result>,
  ) => withOpened(() => openChainOf(context, organizationId, backupId, signal, interactive), work);

  return {
    listBackupCollections: ({ organization, params: { backupId }, query, signal }) =>
      readChain(organization.id, backupId, signal, async ({ readers }) => {
        const collections = presentCollections(readers.at(-1)!.body.collections);
        return pageOfCollections(cursors, { list: 'backup-collections', filters: backupId, ...query }, collections);
      }),

    listBackupDocuments: ({ organization, params: { backupId }, query, signal }) =>
      readChain(organization.id, backupId, signal, async ({ readers }) => {
        const filters = [backupId, query.collection, query.prefix, ...searchFilters(query.search)];
        const view = viewOfChain(readers);
        const page = { list: 'backup-documents', filters, ...query };
        const turn = () => cpuTurns.take(organization.id);
        return await pageOfDocuments(cursors, page, { name: 'The backup', view, turn }, query, signal);
      }),

    getBackupDocument: ({ organization, params: { backupId, documentPath }, signal }) =>
      readChain(organization.id, backupId, signal, async ({ readers }) => {
        const segments = documentPath.split('/');
        const isPath = segments.length % 2 === 0 && segments.every((segment) => segment !== '');
        const view = viewOfChain(readers);
        const body = isPath ? await view.get(documentPath, { signal }) : undefined;
        if (!body) throw new Problem('DOCUMENT_NOT_FOUND', 'The backup holds no such document.');
        return { data: presentDocument(documentPath, body, view.body?.snapshotTime ?? '') };
      }),

    diffBackup: async ({ organization, params: { backupId }, query, signal }) => {
      const { against, collection, limit, seconds } = query;
      const bound = [backupId, against, collection];
      const cursor = cursors.read('backup-diff', bound, query.cursor);
      const position = cursor === undefined ? undefined : (JSON.parse(cursor) as DiffPosition);
      try {
        const request = {
          organizationId: organization.id,
          backupId,
          against,
          collection,
          limit,
          seconds,
          position,
          signal,
        };
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
