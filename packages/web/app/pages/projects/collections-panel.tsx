import type { ItemOf, Operations } from '@holdfast/contract';
import type { ReactNode } from 'react';
import { useGrowing } from '../../api/calls.ts';
import { TextLink } from '../../components/button.tsx';
import { useFolded } from '../../components/folded.tsx';
import { LoadingMore } from '../../components/loading-more.tsx';
import { Panel } from '../../components/panel.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';

type Node = ItemOf<Operations['listProjectCollections']>;

export function CollectionsPanel({ projectId }: { projectId: string }) {
  const tree = useGrowing('listProjectCollections', { params: { projectId } });
  return (
    <Panel title={t.projects.collections} aside={t.projects.collectionsHint} flush>
      {tree.isLoading && <Skeleton rows={4} />}
      {tree.rows?.length === 0 && <p className="px-4 py-6 text-table text-ink2">{t.projects.collectionsEmpty}</p>}
      {tree.rows && tree.rows.length > 0 && <Collections nodes={tree.rows} projectId={projectId} />}
      {tree.isGrowing && <LoadingMore count={tree.rows?.length ?? 0} />}
      {tree.error && <Problem error={tree.error} onRetry={tree.retry} />}
    </Panel>
  );
}

/** Root collections link to their documents; a subcollection has no single place. */
function Collections({ nodes, projectId }: { nodes: readonly Node[]; projectId: string }) {
  const paths = usePaths();
  const rows = nodes.flatMap((node) => rowsOf(node, 0));
  const { collectionsFilter: filter, collectionsWord: things } = t.projects;
  const { shown, frame, field, more } = useFolded(rows, ({ node }) => node.path, { filter, things });
  return (
    <>
      {field && <div className="border-line border-b px-4 py-2">{field}</div>}
      {shown.length === 0 && <p className="px-4 py-3 text-table text-ink2">{t.projects.collectionsNone}</p>}
      <div className={frame} {...(frame ? { tabIndex: 0 } : {})}>
        <table className="w-full text-table" aria-label={t.projects.collections}>
          <tbody>
            {shown.map(({ node, depth }) => (
              <tr key={node.path} className="border-line border-b last:border-b-0">
                <th scope="row" className="px-4 py-1.5 text-left font-normal">
                  <span
                    className={`break-all font-mono ${depth > 0 ? 'text-ink2' : ''}`}
                    style={{ paddingLeft: depth * 18 }}
                  >
                    {depth > 0 && <span aria-hidden="true">↳ </span>}
                    {depth === 0 ? (
                      <TextLink to={paths.find(node.path, { project: projectId })}>{node.id}</TextLink>
                    ) : (
                      node.id
                    )}
                  </span>
                </th>
                <td className="px-4 py-1.5 text-right">{countWords(node)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more && <div className="border-line border-t px-2 py-1">{more}</div>}
    </>
  );
}

/** Sampled counts are approximate; a sampled count of zero means not counted. */
function countWords({ documentCount, sampled }: Node): ReactNode {
  if (!sampled) return formatCount(documentCount);
  return documentCount === 0 ? (
    <span className="text-ink3">{t.projects.notCounted}</span>
  ) : (
    t.projects.aboutSo(formatCount(documentCount))
  );
}

function rowsOf(node: Node, depth: number): { node: Node; depth: number }[] {
  return [{ node, depth }, ...node.collections.flatMap((below) => rowsOf(below, depth + 1))];
}
