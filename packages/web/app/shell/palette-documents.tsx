import { Database, FileText, History, RotateCcw, Search } from 'lucide-react';
import { useCan } from '../api/organization.tsx';
import { t } from '../texts/index.ts';
import { useParam, usePaths } from '../url.ts';
import { type Entry, entry, isCaptured, type Project } from './palette-entry.ts';
import { type FoundIn, useFoundDocuments } from './palette-search.ts';

const { palette } = t.shell;
const othersOffered = 4;

const partsOf = (path: string) => {
  const cut = path.lastIndexOf('/');
  return [path.slice(0, cut), path.slice(cut + 1)] as const;
};

/** The project of the current page first, then those with backups. */
function useOrdered(projects: readonly Project[]): readonly Project[] {
  const here = useParam('projectId');
  const rank = ({ id, statistics }: Project) => (id === here ? 0 : statistics.backupCount > 0 ? 1 : 2);
  return projects.toSorted((one, other) => rank(one) - rank(other));
}

interface Documents {
  entries: Entry[];
  /** How far the search has come. */
  note: string | undefined;
}

/** A text with a slash is a document path: searches its prefix in the newest backup of each project. */
export function useDocuments(given: readonly Project[], path: string, asked: string): Documents {
  const paths = usePaths();
  const canRestore = useCan('member');
  const projects = useOrdered(given);
  const [collection, prefix] = partsOf(path);
  const [askedCollection, askedPrefix] = partsOf(asked);
  const isCollection = collection.split('/').length % 2 === 1 && !collection.includes('//') && collection !== '';
  const isAsked = isCollection && askedCollection === collection;
  const search = useFoundDocuments(projects, { collection: askedCollection, prefix: askedPrefix }, isAsked);
  const here = useParam('projectId');
  // Without a current project, take the one where something was found.
  const project = projects.find(({ id }) => id === here) ?? search.found[0]?.project ?? projects[0];
  if (!path || !project) return { entries: [], note: undefined };
  // Results for an earlier text are not used.
  const found = search.found.map((one) => ({ ...one, paths: one.paths.filter((each) => each.startsWith(path)) }));
  const documents = found.flatMap(({ project: { id, name }, backup, paths: each }) =>
    each.map(
      (document): Entry => ({
        id: `${id} ${document}`,
        group: palette.documents(name),
        icon: FileText,
        aside: palette.versions,
        to: paths.document(id, document),
        ...(canRestore ? { restore: paths.newRestore({ backupId: backup.id, document }) } : {}),
        label: (
          <span className="font-mono">
            <mark className="bg-then text-ink">{document.slice(0, path.length)}</mark>
            {document.slice(path.length)}
          </span>
        ),
      }),
    ),
  );
  const isListed = ({ paths: each }: FoundIn) => each.includes(path);
  const hasIt = new Set(found.filter(isListed).map((one) => one.project.id));
  const openPath = projects.length > 1 ? palette.openPathOf(path, project.name) : t.find.openPath(path);
  // A lost document may be missing from the newest backup: offer its path in all backups.
  const everywhere: Entry[] =
    isCollection && prefix !== '' && hasIt.size === 0
      ? [entry('everywhere', palette.allVersions, FileText, openPath, paths.document(project.id, path))]
      : [];
  const elsewhere = projects
    .filter(({ id }) => id !== project.id && !hasIt.has(id))
    .slice(0, othersOffered)
    .map(({ id, name }) =>
      entry(id, palette.elsewhere, Database, palette.lookIn(path, name), paths.find(path, { project: id })),
    );
  const restores = !canRestore
    ? []
    : found.slice(0, othersOffered).map(({ project: { id, name }, backup }): Entry => {
        const to = paths.newRestore({ backupId: backup.id, collections: collection });
        return { ...entry(id, palette.doIt, RotateCcw, palette.restoreCollection(collection, name), to), restore: to };
      });
  const searchOn: Entry[] =
    isAsked && search.left > 0
      ? [
          {
            id: 'all projects',
            group: palette.elsewhere,
            icon: Search,
            label: palette.searchOn(search.left),
            act: search.searchOn,
          },
        ]
      : [];
  // The moment is chosen on that page; the typed path is searched as of then.
  const sought = prefix !== '' && (hasIt.size > 0 || documents.length === 0) ? path : collection;
  const atMoment = projects
    .filter((one) => isCaptured(one) && isCollection)
    .slice(0, othersOffered)
    .map(({ id, name }) => {
      const label = palette.seeAtMoment(sought, name);
      return entry(`at ${id}`, palette.elsewhere, History, label, paths.time(id, undefined, sought));
    });
  return {
    entries: [...documents, ...everywhere, ...searchOn, ...elsewhere, ...atMoment, ...restores],
    note: isAsked && search.searchable > 1 ? palette.searched(search) : undefined,
  };
}
