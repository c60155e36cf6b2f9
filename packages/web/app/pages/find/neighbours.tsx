import { Search } from 'lucide-react';
import { useState } from 'react';
import { useRead } from '../../api/calls.ts';
import { useNewestBackup } from '../../api/newest-backup.ts';
import { useZone } from '../../api/organization.tsx';
import { Exact } from '../../components/exact.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { FormProblem } from '../../components/states.tsx';
import { formatDay, formatHour } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { momentOf } from '../backups/shared.tsx';
import { CollectionTree } from '../browse/collection-tree.tsx';

const shownDocuments = 14;

interface NeighboursProps {
  projectId: string;
  path: string;
}

/** The place of the document: the backup, its collections, and documents with similar ids. */
export function Neighbours({ projectId, path }: NeighboursProps) {
  const zone = useZone();
  const { backup: newest, backups } = useNewestBackup(projectId);
  const [chosenId, setChosenId] = useState<string>();
  const backupId = chosenId ?? newest?.id;
  const collection = path.split('/').slice(0, -1).join('/');
  if (!backupId) return null;
  return (
    <aside className="border-line border-r bg-bg" aria-label={t.browse.inside}>
      <label className="block px-2 pt-4 pb-2">
        <span className="text-meta text-ink3">{t.browse.inside}</span>
        <select
          value={backupId}
          onChange={(event) => setChosenId(event.target.value)}
          className="control chevron mt-1 w-full font-medium"
        >
          {backups?.map((backup) => (
            <option key={backup.id} value={backup.id}>
              {formatDay(momentOf(backup), zone)} {formatHour(momentOf(backup), zone)}
            </option>
          ))}
        </select>
      </label>
      <CollectionTree backupId={backupId} collection={collection} />
      <Alike key={`${backupId} ${path}`} projectId={projectId} backupId={backupId} path={path} />
    </aside>
  );
}

/** A prefix long enough to find similar ids. */
const beginningOf = (id: string) => (id.length > 3 ? id.slice(0, -1) : '');

function Alike({ projectId, backupId, path }: { projectId: string; backupId: string; path: string }) {
  const collection = path.split('/').slice(0, -1).join('/');
  const [prefix, setPrefix] = useState(() => beginningOf(path.slice(collection.length + 1)));
  const paths = usePaths();
  const wanted = { collection, limit: shownDocuments, ...(prefix ? { prefix } : {}) };
  const found = useRead('listBackupDocuments', { params: { backupId }, query: wanted }, { everyMs: false });
  const isEmpty = found.error?.code === 'COLLECTION_NOT_FOUND';
  return (
    <div className="border-line border-t px-2 py-3">
      <label className="control flex items-center gap-2">
        <Search size={14} aria-hidden className="shrink-0 text-ink3" />
        <span className="sr-only">{t.browse.search}</span>
        <input
          value={prefix}
          onChange={(event) => setPrefix(event.target.value)}
          placeholder={t.browse.search}
          spellCheck={false}
          className="min-w-0 flex-1 bg-transparent font-mono outline-none"
        />
      </label>
      {!isEmpty && <FormProblem error={found.error} />}
      {(isEmpty || found.data?.data.length === 0) && (
        <p className="mt-2 text-table text-ink2">{t.browse.noDocuments}</p>
      )}
      <ul className="mt-2" aria-label={t.browse.documents}>
        {(isEmpty ? [] : (found.data?.data ?? [])).map((one) => (
          <li key={one.path}>
            <RowLink
              to={paths.document(projectId, one.path)}
              aria-current={one.path === path ? 'true' : undefined}
              className={`block truncate rounded-tag px-2 py-1 font-mono text-table ${one.path === path ? 'bg-held-weak font-medium' : 'text-ink2 hover:bg-sunken'}`}
            >
              <Exact text={one.path.split('/').at(-1) ?? ''} />
            </RowLink>
          </li>
        ))}
      </ul>
    </div>
  );
}
