import type { ItemOf, Operations } from '@holdfast/contract';
import { useAll } from '../../api/calls.ts';
import { Panel } from '../../components/panel.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';

type Node = ItemOf<Operations['listProjectCollections']>;

export function CollectionsPanel({ projectId }: { projectId: string }) {
  const tree = useAll('listProjectCollections', { params: { projectId } }, { everyMs: false });
  return (
    <Panel title={t.projects.collections} aside={t.projects.collectionsHint} flush>
      {tree.error && <Problem error={tree.error} onRetry={() => void tree.refetch()} />}
      {tree.isLoading && <Skeleton rows={4} />}
      {tree.rows?.length === 0 && <p className="px-4 py-6 text-table text-ink2">{t.projects.collectionsEmpty}</p>}
      {tree.rows && tree.rows.length > 0 && (
        <table className="w-full text-table" aria-label={t.projects.collections}>
          <tbody>
            {tree.rows
              .flatMap((node) => rowsOf(node, 0))
              .map(({ node, depth }) => (
                <tr key={node.path} className="border-line border-b last:border-b-0">
                  <th scope="row" className="px-4 py-1.5 text-left font-normal">
                    <span className={`font-mono ${depth > 0 ? 'text-ink2' : ''}`} style={{ paddingLeft: depth * 18 }}>
                      {depth > 0 && <span aria-hidden="true">↳ </span>}
                      {node.id}
                    </span>
                  </th>
                  <td className="px-4 py-1.5 text-right">{formatCount(node.documentCount)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function rowsOf(node: Node, depth: number): { node: Node; depth: number }[] {
  return [{ node, depth }, ...node.collections.flatMap((below) => rowsOf(below, depth + 1))];
}
