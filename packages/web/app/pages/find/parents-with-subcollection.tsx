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

interface ParentsWithSubcollectionProps {
  backupId: string;
  collection: string;
  /** Shown if no collection has that name. */
  otherwise?: string | null;
}

/** For the bare name of a subcollection: the parents that have one in the newest backup. */
export function ParentsWithSubcollection({ backupId, collection, otherwise = null }: ParentsWithSubcollectionProps) {
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
