import type { Backup } from '@holdfast/contract';
import { Ellipsis, GitCompare } from 'lucide-react';
import { type ComponentProps, useState } from 'react';
import { useZone } from '../../api/organization.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { FormProblem } from '../../components/states.tsx';
import { formatDateTime } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { useBackupActions, useWaysOn } from './backup-actions.tsx';
import { momentOf, typeName } from './shared.tsx';

interface RowMenuProps {
  backup: Backup;
  /** For a safety backup: the link to undo the restore that made it. */
  undoTo: string | undefined;
  onDelete: (backup: Backup) => void;
}

/** Made when somebody wants it: ten thousand rows are scrolled past. A row is one stop of Tab; the arrow to the right leads here. */
export function RowMenu(props: RowMenuProps) {
  const [isWanted, setWanted] = useState(false);
  return isWanted ? <Opened {...props} /> : <More backup={props.backup} onClick={() => setWanted(true)} />;
}

function More({ backup, ...rest }: Partial<ComponentProps<typeof IconButton>> & { backup: Backup }) {
  const about = `${typeName(backup)}, ${formatDateTime(momentOf(backup), useZone())}`;
  const label = t.common.about(t.common.moreActions, about);
  return <IconButton {...rest} icon={Ellipsis} label={label} tabIndex={-1} data-more="" />;
}

function Opened({ backup, undoTo, onDelete }: RowMenuProps) {
  const paths = usePaths();
  const { items, error, forget } = useBackupActions(backup, () => onDelete(backup));
  const ways = useWaysOn(backup, undoTo);
  return (
    <>
      <Menu
        isOpenAtFirst
        trigger={<More backup={backup} />}
        items={[
          ...ways,
          backup.status === 'completed' && {
            label: t.backups.compare,
            icon: GitCompare,
            to: paths.compare(backup.id),
          },
          items.verify,
          items.hold,
          items.delete,
        ]}
      />
      {error && (
        <Dialog title={t.backups.refused} onClose={forget} footer={<Button onClick={forget}>{t.common.close}</Button>}>
          <FormProblem error={error} />
        </Dialog>
      )}
    </>
  );
}
