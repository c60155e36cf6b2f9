import { type Backup, minuteMs } from '@holdfast/contract';
import { useQuery } from '@tanstack/react-query';
import { clientFor } from '../../api/client.ts';
import { useWorkplace } from '../../api/organization.tsx';
import { TextLink } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { ChainMark } from './chain-mark.tsx';
import { momentOf, typeName } from './shared.tsx';

const lengthMax = 60;

/** The backups below this one, down to the full one it stands on. */
function useParents(backup: Backup): readonly Backup[] {
  const { organization } = useWorkplace();
  const walk = useQuery({
    queryKey: [organization.id, 'chain', backup.id],
    enabled: backup.parentId !== null,
    staleTime: minuteMs,
    queryFn: async ({ signal }) => {
      const parents: Backup[] = [];
      for (let next = backup.parentId; next !== null && parents.length < lengthMax; ) {
        const parent: Backup = await clientFor(organization.id).getBackup({ params: { backupId: next }, signal });
        parents.push(parent);
        next = parent.parentId;
      }
      return parents;
    },
  });
  return walk.data ?? [];
}

export function ChainPanel({ backup }: { backup: Backup }) {
  const chain = [backup, ...useParents(backup)];
  const paths = usePaths();
  return (
    <Panel title={t.backups.chain} flush>
      {backup.parentId === null ? (
        <p className="px-4 py-3 text-table text-ink2">{t.backups.chainAlone}</p>
      ) : (
        <ol aria-label={t.backups.chain}>
          {chain.map((link, index) => (
            <li key={link.id} className="flex h-9 items-center gap-3 px-4 text-table">
              <ChainMark backup={link} up={index > 0} down={index < chain.length - 1} />
              <span className="w-24 font-medium">{typeName(link)}</span>
              <span className="flex-1">
                {index === 0 ? (
                  t.backups.chainThis
                ) : (
                  <TextLink to={paths.backup(link.id)}>
                    <Time at={momentOf(link)} as="near" />
                  </TextLink>
                )}
              </span>
              <span className="text-ink2">{link.compressedSize !== null && formatBytes(link.compressedSize)}</span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
