import type { Backup } from '@holdfast/contract';
import { useAll } from '../../api/calls.ts';
import { TextLink } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { State } from '../../components/status.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { isDamaged } from './shared.tsx';

const tones = { pending: 'off', writing: 'move', completed: 'held', failed: 'fail' } as const;

export function CopiesPanel({ backup }: { backup: Backup }) {
  const destinations = useAll('listStorageDestinations', {}).rows ?? [];
  const paths = usePaths();
  // The service does not tell which of several copies was read.
  const isDoubtful = isDamaged(backup);
  return (
    <Panel title={t.backups.copies} flush>
      <ul>
        {backup.copies.map((copy) => {
          const isOfBackup = copy.error !== null && copy.error.message === backup.error?.message;
          return (
            <li
              key={copy.storageDestinationId}
              className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b px-4 py-2 text-table last:border-b-0"
            >
              <TextLink to={paths.destination(copy.storageDestinationId)} className="min-w-0 wrap-anywhere">
                {destinations.find(({ id }) => id === copy.storageDestinationId)?.name ?? copy.storageDestinationId}
              </TextLink>
              {isOfBackup ? (
                <State tone="off">{t.backups.copyNone}</State>
              ) : isDoubtful && copy.status === 'completed' ? (
                <State tone={backup.copies.length === 1 ? 'fail' : 'risk'}>
                  {backup.copies.length === 1 ? t.backups.copyDoubtful : t.backups.copiesDoubtful}
                </State>
              ) : (
                <State tone={tones[copy.status]}>{t.backups.copyStates[copy.status]}</State>
              )}
              {copy.error && !isOfBackup && (
                <span className="text-ink2">
                  <code className="font-mono text-meta text-fail">{copy.error.code}</code> {copy.error.message}
                </span>
              )}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
