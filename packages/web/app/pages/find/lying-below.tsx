import { useAll } from '../../api/calls.ts';
import { TextLink } from '../../components/button.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';

interface Node {
  readonly id: string;
  readonly path: string;
  readonly collections: readonly Node[];
}

const placesMax = 5;

interface LyingBelowProps {
  backupId: string;
  collection: string;
  /** Where there is none of that name. */
  otherwise?: string | null;
}

/** Who asks for a collection by its name alone is told below which documents the newest backup has one of that name. */
export function LyingBelow({ backupId, collection, otherwise = null }: LyingBelowProps) {
  const paths = usePaths();
  const tree = useAll('listBackupCollections', { params: { backupId } }, { everyMs: false });
  const name = collection.split('/').at(-1);
  const places = (tree.rows ?? []).flatMap(below).filter((node) => node.id === name);
  if (places.length === 0) return otherwise;
  return (
    <>
      {t.find.liesBelow}{' '}
      {places.slice(0, placesMax).map(({ path }, index) => (
        <span key={path}>
          {index > 0 && ', '}
          <TextLink to={paths.browse(backupId, path.split('/')[0])}>{path}</TextLink>
        </span>
      ))}
    </>
  );
}

const below = (node: Node): Node[] => node.collections.flatMap((one) => [one, ...below(one)]);
