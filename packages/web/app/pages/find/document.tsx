import { Download, FileSearch, Info, RotateCcw, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button, LinkButton, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { countChanges, DocumentDiff } from '../../components/document-diff.tsx';
import { Empty, Problem, Skeleton } from '../../components/states.tsx';
import { saveFile } from '../../format/save-file.ts';
import { formatDateTime } from '../../format/times.ts';
import { useKeys } from '../../shell/keys.ts';
import { usePageTitle } from '../../shell/page-title.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useParam, usePaths, useSearch } from '../../url.ts';
import { useVersions, type Version } from './use-versions.ts';
import { VersionList } from './version-list.tsx';

/** What was this document? Its versions, two of them side by side, and the way back. */
export function Page() {
  const projectId = useParam('projectId');
  const path = decodeURIComponent(useParam('_splat'));
  const project = useRead('getProject', { params: { projectId } }, { everyMs: false });
  const versions = useVersions(projectId, path);
  const paths = usePaths();
  usePageTitle([
    { label: project.data?.name ?? '', to: paths.project(projectId) },
    { label: t.find.title, to: paths.find(path) },
    { label: path.split('/').at(-1) ?? path },
  ]);
  return (
    <div className="flex flex-1 flex-col">
      {versions.isLoading && <Skeleton />}
      {versions.error && <Problem error={versions.error} onRetry={() => void versions.refetch()} />}
      {versions.data?.versions.length === 0 && (
        <>
          <h1 className="sr-only">{path}</h1>
          <Empty icon={FileSearch} title={t.document.nowhere}>
            {t.document.nowhereText}
          </Empty>
        </>
      )}
      {versions.data && versions.data.versions.length > 0 && <Shown path={path} versions={versions.data.versions} />}
    </div>
  );
}

interface ShownProps {
  path: string;
  versions: readonly Version[];
}

function Shown({ path, versions }: ShownProps) {
  const [search, setSearch] = useSearch();
  const zone = useZone();
  const paths = usePaths();
  const go = useGo();
  const canRestore = useCan('member');
  const [onlyChanged, setOnlyChanged] = useState(false);
  const newest = versions[0];
  const usual =
    versions.find((version) => version.fields !== null && version !== newest) ??
    versions.find(({ fields }) => fields !== null);
  const then = versions.find(({ id }) => id === search.then) ?? usual;
  const now = versions.find(({ id }) => id === search.now) ?? newest;
  const step = (by: number) => {
    const at = versions.findIndex(({ id }) => id === then?.id);
    const next = versions[Math.min(versions.length - 1, Math.max(0, at + by))];
    if (next) setSearch({ then: next.id }, { replace: true });
  };
  const restoreTo = then?.fields ? paths.newRestore({ backupId: then.backup.id, documents: path }) : undefined;
  useKeys({ '[': () => step(1), ']': () => step(-1), r: restoreTo && canRestore ? () => go(restoreTo) : undefined });
  if (!then || !now) return null;
  const changes = countChanges(then.fields, now.fields);
  const momentWords = (version: Version) => formatDateTime(version.at, zone);
  return (
    <>
      <header className="flex flex-wrap items-center gap-3 border-line border-b px-5 py-4">
        <div className="min-w-0 flex-1">
          <h1 className="flex items-center gap-1 break-all font-mono text-section font-medium">
            {path} <CopyButton text={path} />
          </h1>
          <p className="text-table text-ink2">
            {t.browse.updated} {momentWords(versions.find(({ fields }) => fields) ?? now)}.{' '}
            <TextLink
              to={`${paths.compare(then.backup.id)}&collection=${encodeURIComponent(path.split('/').slice(0, -1).join('/'))}`}
            >
              {t.document.compareAll}
            </TextLink>
          </p>
        </div>
        {then.fields && (
          <Button
            icon={Download}
            onClick={() =>
              saveFile(`${path.replaceAll('/', '_')}.json`, JSON.stringify(then.fields, null, 2), 'application/json')
            }
          >
            {t.document.json}
          </Button>
        )}
        {restoreTo && canRestore && (
          <LinkButton kind="primary" icon={RotateCcw} to={restoreTo}>
            {t.document.restoreThis}
          </LinkButton>
        )}
      </header>
      <div className="grid flex-1 md:grid-cols-[260px_1fr]">
        <aside className="border-line border-r max-md:border-r-0 max-md:border-b">
          <VersionList versions={versions} then={then} now={now} onThen={(id) => setSearch({ then: id })} />
          <p className="flex gap-2 border-line border-t px-4 py-3 text-meta text-ink2">
            <Info size={15} aria-hidden className="mt-px shrink-0 text-held" /> {t.document.hint}
          </p>
        </aside>
        <section className="flex min-w-0 flex-col">
          <div className="flex flex-wrap items-center gap-2 px-4 py-3 text-meta">
            <h2 className="mr-2 text-table font-semibold">{t.document.whatChanged}</h2>
            <span className="rounded-tag bg-sunken px-2 py-0.5">{t.document.changedCount(changes.changed)}</span>
            {changes.added > 0 && (
              <span className="rounded-tag bg-risk-weak px-2 py-0.5 text-risk">
                {t.document.addedCount(changes.added)}
              </span>
            )}
            {changes.removed > 0 && (
              <span className="rounded-tag bg-held-weak px-2 py-0.5 text-held">
                {t.document.removedCount(changes.removed)}
              </span>
            )}
            <button
              type="button"
              aria-pressed={onlyChanged}
              onClick={() => setOnlyChanged(!onlyChanged)}
              className="ml-auto rounded-control border border-control px-2.5 py-1 font-medium aria-pressed:bg-ink aria-pressed:text-on-ink"
            >
              {t.document.changedOnly}
            </button>
          </div>
          <DocumentDiff
            then={then.fields}
            now={now.fields}
            thenTitle={momentWords(then)}
            nowTitle={momentWords(now)}
            onlyChanged={onlyChanged}
          />
          {restoreTo && canRestore && (
            <p className="mt-auto flex items-center gap-2 border-line border-t bg-bg px-4 py-3 text-table text-ink2">
              <Undo2 size={15} aria-hidden className="text-held" /> {t.document.safe}
            </p>
          )}
        </section>
      </div>
    </>
  );
}
