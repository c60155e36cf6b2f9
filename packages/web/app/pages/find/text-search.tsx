import type { Backup } from '@holdfast/contract';
import { FileSearch } from 'lucide-react';
import { useList } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Box } from '../../components/list.tsx';
import { Empty, Problem, Skeleton } from '../../components/states.tsx';
import { formatDateTime } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { FoundDocuments } from './found-documents.tsx';
import { ParentsWithSubcollection } from './parents-with-subcollection.tsx';

/** Searches an id or a text without a path in all documents of the newest backup. */
export function TextSearch({ backup, text }: { backup: Backup; text: string }) {
  const zone = useZone();
  const found = useList(
    'listBackupDocuments',
    { params: { backupId: backup.id }, query: { search: text, limit: 50 } },
    { everyMs: false },
  );
  if (found.error)
    return (
      <Box>
        <Problem error={found.error} onRetry={found.retry} />
      </Box>
    );
  if (!found.rows) return <Skeleton />;
  if (found.rows.length > 0)
    return (
      <FoundDocuments
        title={
          <>
            {t.find.withText(text, formatDateTime(backup.snapshotTime ?? backup.createdAt, zone))}.{' '}
            <ParentsWithSubcollection backupId={backup.id} collection={text} />
          </>
        }
        projectId={backup.projectId}
        documents={found.rows}
        more={found}
        moreWord={t.browse.searchOn}
      />
    );
  return (
    <Box>
      <Empty
        icon={FileSearch}
        title={found.hasMore ? t.browse.notAllSearched : t.find.noText(text)}
        action={
          found.hasMore && (
            <Button busy={found.isLoadingMore} onClick={found.loadMore}>
              {t.browse.searchOn}
            </Button>
          )
        }
      >
        <ParentsWithSubcollection backupId={backup.id} collection={text} />
      </Empty>
    </Box>
  );
}
