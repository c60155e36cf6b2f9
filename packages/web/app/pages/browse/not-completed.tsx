import type { Backup } from '@holdfast/contract';
import { FolderSearch } from 'lucide-react';
import { LinkButton } from '../../components/button.tsx';
import { Empty } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';

/** Shown for a backup that did not complete. */
export function NotCompleted({ backup }: { backup: Backup }) {
  const paths = usePaths();
  return (
    <Empty
      icon={FolderSearch}
      title={t.browse.nothingInside[backup.status]}
      action={<LinkButton to={paths.backup(backup.id)}>{t.browse.openBackup}</LinkButton>}
    >
      {t.browse.nothingInsideText}
    </Empty>
  );
}
