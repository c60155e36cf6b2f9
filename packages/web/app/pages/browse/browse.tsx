import { Link } from '@tanstack/react-router';
import { ChevronLeft, FolderSearch } from 'lucide-react';
import { useRead } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { Empty, Skeleton } from '../../components/states.tsx';
import { formatDateTime } from '../../format/times.ts';
import { ProblemPage } from '../../shell/page.tsx';
import { PageHeading } from '../../shell/page-heading.tsx';
import { usePageTitle } from '../../shell/page-title.tsx';
import { t } from '../../texts/index.ts';
import { useParam, usePaths } from '../../url.ts';
import { CollectionTree } from './collection-tree.tsx';
import { DocumentList } from './document-list.tsx';
import { DocumentView } from './document-view.tsx';
import { NotCompleted } from './not-completed.tsx';

/** `users` is a collection, `users/ada` a document in it. */
export function splitPath(path: string): { collection: string; document: string | null } {
  const segments = path.split('/').filter(Boolean);
  if (segments.length % 2 === 1) return { collection: segments.join('/'), document: null };
  return { collection: segments.slice(0, -1).join('/'), document: segments.length > 0 ? segments.join('/') : null };
}

/** Three columns: collections, documents, fields. On a phone one at a time. */
export function Page() {
  const backupId = useParam('backupId');
  const path = useParam('_splat');
  const { collection, document } = splitPath(path);
  const backup = useRead('getBackup', { params: { backupId } }, { everyMs: false });
  const project = useRead(
    'getProject',
    { params: { projectId: backup.data?.projectId ?? '' } },
    { enabled: backup.data !== undefined, everyMs: false },
  );
  const zone = useZone();
  const paths = usePaths();
  const moment = backup.data?.snapshotTime ? formatDateTime(backup.data.snapshotTime, zone) : '';
  usePageTitle([
    { label: t.backups.title, to: paths.backups },
    { label: `${project.data?.name ?? ''} ${moment}`.trim() || t.browse.title, to: paths.backup(backupId) },
    { label: (document ?? collection).split('/').at(-1) || t.browse.title },
  ]);
  if (backup.error && !backup.data)
    return <ProblemPage error={backup.error} onRetry={() => void backup.refetch()} from="backups" />;
  if (!backup.data) return <Skeleton />;
  if (backup.data.status !== 'completed')
    return (
      <>
        <PageHeading className="sr-only">{t.browse.title}</PageHeading>
        <NotCompleted backup={backup.data} />
      </>
    );
  return (
    <div className="grid flex-1 grid-cols-1 md:grid-cols-[210px_260px_minmax(0,1fr)]">
      <PageHeading className="sr-only">{document ?? (collection || t.browse.title)}</PageHeading>
      <aside className={`border-line border-r bg-bg ${collection ? 'max-md:hidden' : ''}`}>
        <div className="px-4 pt-4 pb-2">
          <p className="text-meta text-ink3">{t.browse.inside}</p>
          <p className="wrap-anywhere text-table font-medium">
            {project.data?.name} {moment}
          </p>
        </div>
        <CollectionTree backupId={backupId} collection={collection} />
      </aside>
      <div
        className={`min-w-0 border-line border-r ${document ? 'max-md:hidden' : ''} ${collection ? '' : 'max-md:hidden'}`}
      >
        {collection && <WayUp to={paths.browse(backupId)} word={t.browse.toCollections} />}
        {collection && (
          // Sticky, so that it is seen beside a collection far down in a long tree.
          <div className="md:sticky md:top-[52px]">
            <DocumentList
              key={collection}
              backup={backup.data}
              collection={collection}
              document={document}
              moment={moment}
            />
          </div>
        )}
      </div>
      <div className={`min-w-0 ${document ? '' : 'max-md:hidden'}`}>
        {document && <WayUp to={paths.browse(backupId, collection)} word={collection} />}
        {document ? (
          <DocumentView backup={backup.data} project={project.data} path={document} moment={moment} />
        ) : (
          <Empty icon={FolderSearch} title={t.browse.title}>
            {collection ? t.browse.chooseDocument : t.browse.chooseCollection}
          </Empty>
        )}
      </div>
    </div>
  );
}

/** On a phone only one column is shown. */
function WayUp({ to, word }: { to: string; word: string }) {
  return (
    <Link
      to={to}
      className="flex h-11 items-center gap-1 border-line border-b px-3 font-medium text-held text-table md:hidden"
    >
      <ChevronLeft size={16} aria-hidden /> <span className="truncate">{word}</span>
    </Link>
  );
}
