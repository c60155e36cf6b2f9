import { Download, FileSearch, Info, RotateCcw, ShoppingBasket, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { useRead } from '../../api/calls.ts';
import { useCan, useWorkplace, useZone } from '../../api/organization.tsx';
import { Button, LinkButton, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { countChanges, DocumentDiff } from '../../components/document-diff.tsx';
import { Empty, Problem, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { saveFile } from '../../format/save-file.ts';
import { formatClock, formatDateTime } from '../../format/times.ts';
import { linksInto } from '../../format/values.ts';
import { type BasketItem, useBasket } from '../../shell/basket.ts';
import { useKeys } from '../../shell/keys.ts';
import { usePageTitle } from '../../shell/page-title.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useParam, usePaths, useSearch } from '../../url.ts';
import { useFields, useVersions, type Version } from './use-versions.ts';
import { VersionLine } from './version-line.tsx';
import { type OlderVersions, VersionList } from './version-list.tsx';

/** What was this document? Its versions, two of them side by side, and the way back. */
export function Page() {
  const projectId = useParam('projectId');
  const path = useParam('_splat');
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
      {!versions.versions && !versions.error && <Skeleton />}
      {versions.error && <Problem error={versions.error} onRetry={versions.retry} />}
      {versions.versions?.length === 0 && !versions.hasMore && (
        <>
          <h1 className="sr-only">{path}</h1>
          <Empty icon={FileSearch} title={t.document.nowhere}>
            {t.document.nowhereText}
          </Empty>
        </>
      )}
      {versions.versions && versions.versions.length > 0 && (
        <Shown project={project.data} projectId={projectId} path={path} versions={versions.versions} older={versions} />
      )}
    </div>
  );
}

interface ShownProps {
  project: Parameters<typeof linksInto>[0];
  projectId: string;
  path: string;
  versions: readonly Version[];
  older: OlderVersions;
}

/** Where a version comes back from; none for the one that stands there now, and for one that says it was gone. */
function restoreStart(projectId: string, path: string, { source, backupId, at, change }: Version) {
  if (change === 'deleted' || source === 'live') return undefined;
  return backupId ? { backupId, document: path } : { projectId, at, document: path };
}

function Shown({ project, projectId, path, versions, older }: ShownProps) {
  const [search, setSearch] = useSearch();
  const zone = useZone();
  const paths = usePaths();
  const go = useGo();
  const canRestore = useCan('member');
  const [onlyChanged, setOnlyChanged] = useState(false);
  const newest = versions[0];
  const usual =
    versions.find((version) => version.change !== 'deleted' && version !== newest) ??
    versions.find(({ change }) => change !== 'deleted');
  const then = versions.find(({ id }) => id === search.then) ?? usual;
  const now = versions.find(({ id }) => id === search.now) ?? newest;
  const step = (by: number) => {
    const at = versions.findIndex(({ id }) => id === then?.id);
    const next = versions[Math.min(versions.length - 1, Math.max(0, at + by))];
    if (next) setSearch({ then: next.id }, { replace: true });
  };
  const start = then && restoreStart(projectId, path, then);
  const restoreTo = start && paths.newRestore(start);
  const { has, toggle } = useBasket(useWorkplace().organization.id);
  const itemOf = ({ backupId, at }: { backupId?: string; at?: string }): BasketItem => ({
    path,
    from: then ? formatDateTime(then.at, zone) : '',
    ...(backupId ? { backupId } : {}),
    ...(at ? { pointInTime: at } : {}),
  });
  const thenFields = useFields(projectId, path, then);
  const nowFields = useFields(projectId, path, now);
  useKeys({ '[': () => step(1), ']': () => step(-1), r: restoreTo && canRestore ? () => go(restoreTo) : undefined });
  if (!then || !now) return null;
  const problem = thenFields.error ?? nowFields.error;
  const isRead = thenFields.data !== undefined && nowFields.data !== undefined;
  const changes = isRead ? countChanges(thenFields.data, nowFields.data) : { changed: 0, added: 0, removed: 0 };
  const changedAt = (versions.find(({ change }) => change !== 'deleted') ?? now).at;
  const momentWords = (version: Version) => formatDateTime(version.at, zone);
  return (
    <>
      <header className="flex flex-wrap items-center gap-3 border-line border-b px-5 py-4">
        <div className="min-w-0 flex-1 max-md:basis-full">
          <h1 className="flex items-center gap-1 break-all font-mono text-section font-medium">
            {path} <CopyButton text={path} />
          </h1>
          <p className="text-table text-ink2">
            {t.browse.updated} <Time at={changedAt} as="age" />, {formatDateTime(changedAt, zone)}.{' '}
            {then.backupId && (
              <TextLink
                to={`${paths.compare(then.backupId)}&collection=${encodeURIComponent(path.split('/').slice(0, -1).join('/'))}`}
              >
                {t.document.compareAll}
              </TextLink>
            )}
          </p>
        </div>
        {thenFields.data && (
          <Button
            icon={Download}
            onClick={() =>
              saveFile(
                `${path.replaceAll('/', '_')}.json`,
                JSON.stringify(thenFields.data, null, 2),
                'application/json',
              )
            }
          >
            {t.document.json}
          </Button>
        )}
        {start && canRestore && (
          <Button icon={ShoppingBasket} aria-pressed={has({ path })} onClick={() => toggle(projectId, itemOf(start))}>
            {has({ path }) ? t.browse.unpick : t.browse.pick}
          </Button>
        )}
        {restoreTo && canRestore && (
          <LinkButton kind="primary" icon={RotateCcw} to={restoreTo}>
            {t.document.restoreThis}
          </LinkButton>
        )}
      </header>
      <VersionLine projectId={projectId} versions={versions} then={then} now={now} />
      <div className="grid flex-1 md:grid-cols-[260px_1fr]">
        <aside className="border-line border-r max-md:border-r-0 max-md:border-b">
          <VersionList
            versions={versions}
            older={older}
            then={then}
            now={now}
            onThen={(id) => setSearch({ then: id })}
          />
          <p className="flex gap-2 border-line border-t px-4 py-3 text-meta text-ink2">
            <Info size={15} aria-hidden className="mt-px shrink-0 text-held" />{' '}
            {versions.some(({ source }) => source === 'pitr') ? t.document.hintPitr : t.document.hint}
          </p>
        </aside>
        <section className="flex min-w-0 flex-col">
          <div className="flex flex-wrap items-center gap-2 px-4 py-3 text-meta">
            <h2 className="mr-2 text-table font-semibold">{t.document.whatChanged}</h2>
            {isRead && (changes.changed > 0 || changes.added + changes.removed === 0) && (
              <span className="rounded-tag bg-sunken px-2 py-0.5">{t.document.changedCount(changes.changed)}</span>
            )}
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
            <fieldset className="ml-auto flex overflow-hidden rounded-control border border-control">
              <legend className="sr-only">{t.document.whichFields}</legend>
              {[false, true].map((only) => (
                <button
                  key={String(only)}
                  type="button"
                  aria-pressed={onlyChanged === only}
                  onClick={() => setOnlyChanged(only)}
                  className="px-2.5 py-1 font-medium -outline-offset-2 aria-pressed:bg-ink aria-pressed:text-on-ink max-sm:py-2.5"
                >
                  {only ? t.document.changedOnly : t.document.allFields}
                </button>
              ))}
            </fieldset>
          </div>
          {problem && (
            <Problem error={problem} onRetry={() => void Promise.all([thenFields.refetch(), nowFields.refetch()])} />
          )}
          {!problem && !isRead && <Skeleton />}
          {isRead && (
            <DocumentDiff
              key={`${then.id} ${now.id}`}
              linkTo={linksInto(project, (to) => paths.document(projectId, to))}
              then={thenFields.data}
              now={nowFields.data}
              thenTitle={momentWords(then)}
              nowTitle={
                now.source === 'live'
                  ? t.document.liveRead(formatClock(nowFields.dataUpdatedAt, zone))
                  : momentWords(now)
              }
              onlyChanged={onlyChanged}
            />
          )}
          {restoreTo && canRestore && (
            <div className="mt-auto flex gap-2 border-line border-t bg-bg px-4 py-3 text-table">
              <Undo2 size={15} aria-hidden className="mt-0.5 shrink-0 text-held" />
              <p>
                {isRead && <b className="block font-medium">{t.document.restoring(changes)}</b>}
                <span className="text-ink2">{t.document.safe}</span>
              </p>
            </div>
          )}
        </section>
      </div>
    </>
  );
}
