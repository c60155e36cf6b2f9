import type { Backup } from '@holdfast/contract';
import { useCallback, useMemo, useRef, useState } from 'react';
import { useCan } from '../../api/organization.tsx';
import { Cut } from '../../components/cut.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes, formatCount, formatDuration } from '../../format/numbers.ts';
import { useKeys } from '../../shell/keys.ts';
import { explainError } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useGo, usePaths } from '../../url.ts';
import { chainLinks } from './chain-links.ts';
import { ChainMark } from './chain-mark.tsx';
import { DeleteBackup } from './delete-backup.tsx';
import { type RowFacts, useRowFacts } from './row-facts.ts';
import { RowMenu } from './row-menu.tsx';
import { BackupState, Kept, madeLater, momentOf, Proof, typeName } from './shared.tsx';

interface BackupTableProps {
  rows: readonly Backup[];
  list: { hasMore: boolean; isLoadingMore: boolean; loadMore: () => void };
  nameOf: (projectId: string) => string;
  showProject: boolean;
}

/** Lists may have ten thousand rows: the props of a row stay identical until the row changes. */
export function BackupTable({ rows, list, nameOf, showProject }: BackupTableProps) {
  const paths = usePaths();
  const facts = useRowFacts(rows);
  const [deleting, setDeleting] = useState<Backup | null>(null);
  const columns = useMemo(() => columnsOf(nameOf, showProject, facts, setDeleting), [nameOf, showProject, facts]);
  const to = useCallback(({ backup }: LinkedBackup) => paths.backup(backup.id), [paths]);
  const go = useGo();
  const canRestore = useCan('member');
  /** For the row that has the focus (J and K). */
  const withRow = (act: (id: string) => string) => () => {
    const link = document.activeElement?.closest<HTMLAnchorElement>('a[data-row]');
    const id = link?.pathname.split('/').at(-1);
    const backup = rows.find((row) => row.id === id);
    if (backup?.status === 'completed') go(act(backup.id));
  };
  useKeys({
    r: canRestore ? withRow((backupId) => paths.newRestore({ backupId })) : undefined,
    c: withRow((backupId) => paths.compare(backupId)),
  });
  const close = () => setDeleting(null);
  return (
    <>
      <DataTable
        {...list}
        label={t.backups.title}
        columns={columns}
        rows={useLinked(rows)}
        rowKey={({ backup }) => backup.id}
        to={to}
        phone={({ backup }) => (
          <>
            <span className="flex justify-between gap-2">
              <span className="min-w-0 truncate font-medium" dir="auto">
                {[typeName(backup), showProject && nameOf(backup.projectId)].filter(Boolean).join(' · ')}
              </span>
              <BackupState backup={backup} />
            </span>
            <span className="flex justify-between gap-2 text-meta text-ink3">
              <span className="min-w-0">
                <Time at={momentOf(backup)} as="near" /> <MadeLater backup={backup} />
              </span>
              {backup.compressedSize !== null && (
                <span className="whitespace-nowrap">{formatBytes(backup.compressedSize)}</span>
              )}
            </span>
            {backup.error && (
              <span className="block truncate text-ink2 text-meta">{explainError(backup.error).title}</span>
            )}
          </>
        )}
      />
      {deleting && <DeleteBackup backup={deleting} onClose={close} onDeleted={close} />}
    </>
  );
}

interface LinkedBackup {
  readonly backup: Backup;
  readonly up: boolean;
  readonly down: boolean;
}

/** Reuses the row object if its chain lines are unchanged, so that drawn rows are not rendered again when more rows arrive. */
function useLinked(rows: readonly Backup[]): readonly LinkedBackup[] {
  const former = useRef<readonly LinkedBackup[]>([]);
  return useMemo(() => {
    const links = chainLinks(rows);
    const linked = rows.map((backup, index) => {
      const { up, down } = links[index] ?? { up: false, down: false };
      const last = former.current[index];
      return last?.backup === backup && last.up === up && last.down === down ? last : { backup, up, down };
    });
    former.current = linked;
    return linked;
  }, [rows]);
}

function columnsOf(
  nameOf: (projectId: string) => string,
  showProject: boolean,
  facts: RowFacts,
  onDelete: (backup: Backup) => void,
): readonly Column<LinkedBackup>[] {
  const { columns: headers } = t.backups;
  return [
    {
      id: 'chain',
      header: <span className="sr-only">{t.backups.chain}</span>,
      className: 'w-8 p-0!  pl-3!',
      cell: (row) => <ChainMark {...row} />,
    },
    { id: 'status', header: headers.status, cell: ({ backup }) => <BackupState backup={backup} /> },
    { id: 'type', header: headers.type, cell: ({ backup }) => <span className="font-medium">{typeName(backup)}</span> },
    {
      id: 'snapshot',
      header: headers.snapshot,
      isLink: true,
      className: 'whitespace-nowrap',
      cell: ({ backup }) => <Time at={momentOf(backup)} as="near" />,
    },
    ...(showProject
      ? [
          {
            id: 'project',
            header: headers.project,
            cell: ({ backup }: LinkedBackup) => <Cut text={nameOf(backup.projectId)} className="max-w-40" />,
          },
        ]
      : []),
    {
      id: 'trigger',
      header: headers.trigger,
      from: 'lg',
      className: 'whitespace-nowrap',
      cell: ({ backup }) => <StartedBy backup={backup} facts={facts} />,
    },
    {
      id: 'documents',
      header: headers.documents,
      align: 'right',
      cell: ({ backup }) => <Outcome backup={backup} />,
    },
    {
      id: 'stored',
      header: headers.stored,
      align: 'right',
      from: 'xl',
      cell: ({ backup }) => (backup.compressedSize === null ? '' : formatBytes(backup.compressedSize)),
    },
    {
      id: 'took',
      header: headers.took,
      align: 'right',
      from: '2xl',
      cell: ({ backup: { duration, error } }) => (
        <span className="text-ink2">{duration === null || error ? '' : formatDuration(duration)}</span>
      ),
    },
    {
      id: 'proof',
      header: headers.proof,
      from: 'lg',
      cell: ({ backup }) => <Proof backup={backup} isDrilled={facts.isDrilled(backup)} />,
    },
    {
      id: 'kept',
      header: headers.kept,
      from: 'xl',
      className: 'whitespace-nowrap',
      cell: ({ backup }) => backup.status === 'completed' && <Kept backup={backup} until={facts.kept(backup)} />,
    },
    {
      id: 'more',
      header: '',
      align: 'right',
      className: 'w-8 py-0! pr-2! pl-0!',
      cell: ({ backup }) => <RowMenu backup={backup} undoTo={facts.undoTo(backup)} onDelete={onDelete} />,
    },
  ];
}

/** A backup made long after its snapshot time says so. */
function MadeLater({ backup }: { backup: Backup }) {
  const made = madeLater(backup);
  return made ? (
    <>
      {made.word} <Time at={made.at} as="day" />
    </>
  ) : null;
}

/** The error of a failed backup spans the empty cells beside it; the code is shown where there is room. */
function Outcome({ backup }: { backup: Backup }) {
  if (backup.error)
    return (
      <span className="block w-0 text-left" title={backup.error.message}>
        <span className="flex w-24 items-baseline gap-2 lg:w-36 xl:w-[350px] 2xl:w-[460px]">
          <span className="truncate">{explainError(backup.error).title}</span>
          <code className="hidden shrink-0 font-mono text-fail text-meta 2xl:inline">{backup.error.code}</code>
        </span>
      </span>
    );
  if (backup.changeCount !== null) return t.backups.changes(backup.changeCount);
  return backup.documentCount === null ? null : formatCount(backup.documentCount);
}

function StartedBy({ backup, facts }: { backup: Backup; facts: RowFacts }) {
  const undoTo = facts.undoTo(backup);
  return (
    <span className="text-ink2">
      {madeLater(backup) ? (
        <MadeLater backup={backup} />
      ) : (
        (facts.scheduleName(backup) ?? t.backups.triggers[backup.trigger])
      )}
      {undoTo && (
        <RowLink to={undoTo} tabIndex={-1} className="ml-2 font-medium text-held hover:underline max-xl:hidden">
          {t.backups.undoIt}
        </RowLink>
      )}
    </span>
  );
}
