import { Link } from '@tanstack/react-router';
import { FileText } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '../../components/button.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';

interface FoundDocumentsProps {
  title: ReactNode;
  projectId: string;
  documents: readonly { readonly path: string }[];
  /** The moment whose version is opened; absent: the page proposes one. */
  at?: string | undefined;
  more: { readonly hasMore: boolean; readonly isLoadingMore: boolean; readonly loadMore: () => void };
  moreWord: string;
  children?: ReactNode;
}

/** Links to the versions of each document. */
export function FoundDocuments({ title, projectId, documents, at, more, moreWord, children }: FoundDocumentsProps) {
  const paths = usePaths();
  return (
    <section aria-label={t.find.title}>
      <h2 className="mb-2 text-table text-ink2">{title}</h2>
      <ul className="overflow-hidden rounded-panel border border-line">
        {documents.map(({ path }) => (
          <li key={path} className="border-line border-b last:border-b-0">
            <Link
              to={paths.document(projectId, path, { at })}
              className="flex h-9 items-center gap-3 px-4 font-mono text-table hover:bg-bg max-sm:h-11"
            >
              <FileText size={15} aria-hidden className="shrink-0 text-ink3" />
              <span className="truncate">{path}</span>
            </Link>
          </li>
        ))}
      </ul>
      {more.hasMore && (
        <div className="mt-3 flex justify-center">
          <Button kind="quiet" busy={more.isLoadingMore} onClick={more.loadMore}>
            {moreWord}
          </Button>
        </div>
      )}
      {children}
    </section>
  );
}
