import type { Backup } from '@holdfast/contract';
import { useCallback, useMemo } from 'react';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes, formatCount, formatDuration } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { ChainMark, chainLinks } from './chain-mark.tsx';
import { BackupState, Kept, momentOf, Proof, typeName } from './shared.tsx';

interface BackupTableProps {
  rows: readonly Backup[];
  list: { hasMore: boolean; isLoadingMore: boolean; loadMore: () => void };
  nameOf: (projectId: string) => string;
  showProject: boolean;
}

/** Ten thousand of them are scrolled: what a row is made from stays the same until the row itself changes. */
export function BackupTable({ rows, list, nameOf, showProject }: BackupTableProps) {
  const paths = usePaths();
  const columns = useColumns(rows, nameOf, showProject);
  const to = useCallback(({ id }: Backup) => paths.backup(id), [paths]);
  return (
    <DataTable
      label={t.backups.title}
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      to={to}
      {...list}
      phone={(backup) => (
        <>
          <span className="flex justify-between gap-2">
            <span className="min-w-0 truncate font-medium" dir="auto">
              {typeName(backup)} {showProject && nameOf(backup.projectId)}
            </span>
            <BackupState backup={backup} />
          </span>
          <span className="flex justify-between gap-2 text-meta text-ink3">
            <MomentText backup={backup} />
            {backup.compressedSize !== null && formatBytes(backup.compressedSize)}
          </span>
        </>
      )}
    />
  );
}

function useColumns(
  rows: readonly Backup[],
  nameOf: (projectId: string) => string,
  showProject: boolean,
): readonly Column<Backup>[] {
  const links = useMemo(() => chainLinks(rows), [rows]);
  return useMemo(() => columnsOf(links, nameOf, showProject), [links, nameOf, showProject]);
}

function columnsOf(
  links: ReturnType<typeof chainLinks>,
  nameOf: (projectId: string) => string,
  showProject: boolean,
): readonly Column<Backup>[] {
  const { columns: headers } = t.backups;
  return [
    {
      id: 'chain',
      header: <span className="sr-only">{t.backups.chain}</span>,
      className: 'w-8 p-0!  pl-3!',
      cell: (backup, index) => <ChainMark backup={backup} {...(links[index] ?? { up: false, down: false })} />,
    },
    { id: 'status', header: headers.status, cell: (backup) => <BackupState backup={backup} /> },
    { id: 'type', header: headers.type, cell: (backup) => <span className="font-medium">{typeName(backup)}</span> },
    {
      id: 'snapshot',
      header: headers.snapshot,
      isLink: true,
      className: 'whitespace-nowrap',
      cell: (backup) => <MomentText backup={backup} />,
    },
    ...(showProject
      ? [
          {
            id: 'project',
            header: headers.project,
            cell: (backup: Backup) => <Cut text={nameOf(backup.projectId)} className="max-w-40" />,
          },
        ]
      : []),
    {
      id: 'trigger',
      header: headers.trigger,
      from: 'lg',
      className: 'whitespace-nowrap',
      cell: (backup) => <span className="text-ink2">{t.backups.triggers[backup.trigger]}</span>,
    },
    { id: 'documents', header: headers.documents, align: 'right', cell: (backup) => <Outcome backup={backup} /> },
    {
      id: 'stored',
      header: headers.stored,
      align: 'right',
      from: 'md',
      cell: ({ compressedSize }) => (compressedSize === null ? '' : formatBytes(compressedSize)),
    },
    {
      id: 'took',
      header: headers.took,
      align: 'right',
      from: 'xl',
      cell: ({ duration }) => <span className="text-ink2">{duration === null ? '' : formatDuration(duration)}</span>,
    },
    { id: 'proof', header: headers.proof, from: 'lg', cell: (backup) => <Proof backup={backup} /> },
    {
      id: 'kept',
      header: headers.kept,
      from: 'lg',
      className: 'whitespace-nowrap',
      cell: (backup) => backup.status === 'completed' && <Kept backup={backup} />,
    },
  ];
}

function MomentText({ backup }: { backup: Backup }) {
  return <Time at={momentOf(backup)} as="near" />;
}

function Outcome({ backup }: { backup: Backup }) {
  if (backup.error)
    return (
      <span className="block text-left" title={backup.error.message}>
        <code className="font-mono text-meta text-fail">{backup.error.code}</code>
        <span className="block max-w-44 truncate text-meta text-ink2 max-lg:hidden">{backup.error.message}</span>
      </span>
    );
  return backup.documentCount === null ? null : formatCount(backup.documentCount);
}
