import type { Restore } from '@holdfast/contract';
import { TextLink } from '../../components/button.tsx';
import { Exact } from '../../components/exact.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { whatOf } from './shared.tsx';

const listedMax = 20;

/** A link to the document and its versions; other names are plain text. */
export function RestoredDocument({
  projectId,
  path,
  label = path,
}: {
  projectId: string;
  path: string;
  label?: string;
}) {
  const paths = usePaths();
  const isDocument = path.split('/').length % 2 === 0;
  if (!isDocument) return <Exact text={label} />;
  return (
    <TextLink to={paths.document(projectId, path)}>
      <Exact text={label} />
    </TextLink>
  );
}

/** The documents that the restore was asked for. */
export function RestoredWhat({ restore }: { restore: Restore }) {
  const documents = restore.items?.map(({ path }) => path) ?? restore.documentIds ?? [];
  const [only, ...others] = documents;
  const what = whatOf(restore);
  if (only === undefined) return what;
  if (others.length === 0) return <RestoredDocument projectId={restore.targetProjectId} path={only} label={what} />;
  return (
    <>
      {what}
      <ul>
        {documents.slice(0, listedMax).map((path, index) => (
          <li key={`${index} ${path}`}>
            <RestoredDocument projectId={restore.targetProjectId} path={path} />
          </li>
        ))}
        {documents.length > listedMax && (
          <li className="text-ink3">{t.restore.andMore(documents.length - listedMax)}</li>
        )}
      </ul>
    </>
  );
}
