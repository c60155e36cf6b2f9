import type { ItemOf, Operations } from '@holdfast/contract';
import type { HoldfastError } from '@holdfast/contract/client';
import { Checkbox } from '../../components/field.tsx';
import { useFolded } from '../../components/folded.tsx';
import { LoadingMore } from '../../components/loading-more.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';

type Node = ItemOf<Operations['listBackupCollections']>;

/** The maximum for one restore. */
export const collectionsMax = 1000;

interface CollectionPickerProps {
  tree: {
    rows: readonly Node[] | undefined;
    error: HoldfastError | null;
    isLoading: boolean;
    isGrowing: boolean;
    retry: () => void;
  };
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}

/** Selects collections: single ones, or all whose name contains a text. */
export function CollectionPicker({ tree, chosen, onChange }: CollectionPickerProps) {
  const nodes = tree.rows ?? [];
  const { collectionsFilter: filter, collectionsWord: things } = t.projects;
  const { shown, found, isFiltered, frame, field, more } = useFolded(nodes, ({ path }) => path, { filter, things });
  const taken = new Set(chosen);
  const without = (paths: ReadonlySet<string>) => chosen.filter((path) => !paths.has(path));
  const foundPaths = new Set(found.map(({ path }) => path));
  const choices = [
    { word: isFiltered ? t.newRestore.choose.found : t.newRestore.choose.all, add: [...foundPaths] },
    { word: t.newRestore.choose.none, add: [] },
  ];
  return (
    <fieldset className="mt-4 flex min-w-0 flex-col gap-2">
      <legend className="mb-1 text-table font-medium">{t.newRestore.collectionsLabel}</legend>
      {tree.isLoading && <Skeleton rows={4} />}
      {field}
      {nodes.length > 1 && (
        <p className="flex items-center gap-4 text-table">
          {choices.map(({ word, add }) => (
            <button
              key={word}
              type="button"
              onClick={() => onChange([...without(foundPaths), ...add])}
              className="font-medium text-held hover:underline max-sm:min-h-11"
            >
              {word}
            </button>
          ))}
          <span role="status" className="ml-auto text-ink2">
            {t.newRestore.chosen(chosen.length, nodes.length)}
          </span>
        </p>
      )}
      {nodes.length > 0 && shown.length === 0 && <p className="text-table text-ink2">{t.projects.collectionsNone}</p>}
      <div className={`flex flex-col gap-2 ${frame && `${frame} rounded-control border border-line p-3`}`}>
        {shown.map((node) => (
          <Checkbox
            key={node.path}
            label={
              <>
                <code className="break-all font-mono">{node.id}</code>{' '}
                <span className="text-ink3">{formatCount(node.documentCount)}</span>
              </>
            }
            checked={taken.has(node.path)}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, node.path] : without(new Set([node.path])))
            }
          />
        ))}
      </div>
      {more && <div>{more}</div>}
      {tree.isGrowing && <LoadingMore count={nodes.length} />}
      {tree.error && <Problem error={tree.error} onRetry={tree.retry} />}
      {chosen.length > collectionsMax && (
        <p role="alert" className="text-table text-fail">
          {t.newRestore.tooMany(collectionsMax)}
        </p>
      )}
    </fieldset>
  );
}
