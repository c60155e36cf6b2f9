import type { ItemOf, Operations } from '@holdfast/contract';
import { useGrowing } from '../../api/calls.ts';
import { useFolded } from '../../components/folded.tsx';
import { LoadingMore } from '../../components/loading-more.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { isMatch } from './collections-below.ts';

/** Deeper levels are not indented further: their names need the room. */
const deepest = 5;

type Node = ItemOf<Operations['listBackupCollections']>;

/** The tree of collections with counts; subcollections are grouped by name below their parent. */
export function CollectionTree({ backupId, collection }: { backupId: string; collection: string }) {
  const tree = useGrowing('listBackupCollections', { params: { backupId } });
  const paths = usePaths();
  const rows = (tree.rows ?? []).flatMap((node) => rowsOf(node, 0));
  const { collectionsFilter: filter, collectionsWord: things } = t.projects;
  const { shown, field, more } = useFolded(rows, ({ node }) => node.path, { filter, things });
  if (tree.error) return <Problem error={tree.error} onRetry={tree.retry} />;
  if (!tree.rows) return <Skeleton rows={5} />;
  return (
    <nav aria-label={t.browse.collections} className="pb-4">
      {field && <div className="px-2 pb-2">{field}</div>}
      <ul>
        {shown.map(({ node, depth }) => {
          const isHere = node.path === collection || (depth > 0 && isMatch(node.path, collection));
          const content = (
            <>
              <span className="truncate" style={{ paddingLeft: Math.min(depth, deepest) * 14 }} title={node.path}>
                {depth > 0 && <span aria-hidden="true">↳ </span>}
                {node.id}
              </span>
              <span className="ml-auto text-ink3">{formatCount(node.documentCount)}</span>
            </>
          );
          const look = 'mx-2 flex h-8 max-sm:h-11 items-center gap-2 rounded-control border px-2 text-table';
          return (
            <li key={node.path}>
              {depth === 0 ? (
                <RowLink
                  to={paths.browse(backupId, node.path)}
                  aria-current={isHere ? 'true' : undefined}
                  className={`${look} hover:bg-sunken ${isHere ? 'border-line bg-surface font-medium' : 'border-transparent'}`}
                >
                  {content}
                </RowLink>
              ) : (
                <span className={`${look} text-ink2 ${isHere ? 'border-line bg-surface' : 'border-transparent'}`}>
                  {content}
                </span>
              )}
            </li>
          );
        })}
      </ul>
      {more && <div className="px-2">{more}</div>}
      {tree.isGrowing && <LoadingMore count={tree.rows.length} />}
    </nav>
  );
}

function rowsOf(node: Node, depth: number): { node: Node; depth: number }[] {
  return [{ node, depth }, ...node.collections.flatMap((below) => rowsOf(below, depth + 1))];
}
