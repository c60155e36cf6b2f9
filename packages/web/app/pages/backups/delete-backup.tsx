import type { Backup } from '@holdfast/contract';
import type { HoldfastError } from '@holdfast/contract/client';
import { useAct, useRead } from '../../api/calls.ts';
import { TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Time } from '../../components/time.tsx';
import { formatCount, shortenId } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { momentOf, typeName } from './shared.tsx';

interface DeleteBackupProps {
  backup: Backup;
  onClose: () => void;
  onDeleted: () => void;
}

export function DeleteBackup({ backup, onClose, onDeleted }: DeleteBackupProps) {
  const remove = useAct('deleteBackup', { onDone: onDeleted });
  return (
    <Confirm
      title={t.backups.deleteTitle}
      action={t.backups.delete}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate({ params: { backupId: backup.id } })}
    >
      <p>{t.backups.deleteText(formatCount(backup.documentCount ?? 0))}</p>
      <Dependents error={remove.error} />
    </Confirm>
  );
}

const namedMax = 5;

/** The increments that depend on it, newest first: the order in which they can be deleted. */
function Dependents({ error }: { error: HoldfastError | null }) {
  const { usedBy = [] } = (error?.details ?? {}) as { usedBy?: { type: string; id: string }[] };
  const ids = usedBy.filter(({ type }) => type === 'backup').map(({ id }) => id);
  if (ids.length === 0) return null;
  return (
    <>
      <p>{t.backups.dependents(formatCount(ids.length))}</p>
      <ul className="list-disc pl-5">
        {ids.slice(0, namedMax).map((id) => (
          <li key={id}>
            <Dependent id={id} />
          </li>
        ))}
        {ids.length > namedMax && <li>{t.backups.moreDependents(formatCount(ids.length - namedMax))}</li>}
      </ul>
    </>
  );
}

function Dependent({ id }: { id: string }) {
  const paths = usePaths();
  const { data } = useRead('getBackup', { params: { backupId: id } });
  return (
    <TextLink to={paths.backup(id)}>
      {data ? (
        <>
          {typeName(data)}, <Time at={momentOf(data)} as="near" />
        </>
      ) : (
        shortenId(id)
      )}
    </TextLink>
  );
}
