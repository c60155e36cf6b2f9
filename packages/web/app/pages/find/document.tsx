import { FileSearch, Info, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { LinkButton } from '../../components/button.tsx';
import { countChanges, DocumentDiff } from '../../components/document-diff.tsx';
import { Exact } from '../../components/exact.tsx';
import { Empty, Problem, Skeleton } from '../../components/states.tsx';
import { useIsWide } from '../../components/use-is-phone.ts';
import { byServiceClock } from '../../format/service-clock.ts';
import { formatClock, formatDateTime } from '../../format/times.ts';
import { isSameDocument, linksInto } from '../../format/values.ts';
import type { RestoreStart } from '../../paths.ts';
import { useKeys } from '../../shell/keys.ts';
import { PageHeading } from '../../shell/page-heading.tsx';
import { usePageTitle } from '../../shell/page-title.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useParam, usePaths, useSearch } from '../../url.ts';
import type { Project } from '../projects/connect-form.tsx';
import { standsStillAt } from '../time/reach.ts';
import { DocumentHead } from './document-head.tsx';
import { Neighbours } from './neighbours.tsx';
import { UnreadableNote } from './unreadable-note.tsx';
import { useOthers } from './use-others.ts';
import { useThen } from './use-then.ts';
import { type Unreadable, useFields, useLiveFields, useVersions, type Version } from './use-versions.ts';
import { VersionLine } from './version-line.tsx';
import { type OlderVersions, VersionList } from './version-list.tsx';

/** The versions of a document, two of them side by side, and the restore. */
export function Page() {
  const projectId = useParam('projectId');
  const path = useParam('_splat');
  const project = useRead('getProject', { params: { projectId } }, { everyMs: false });
  const isWide = useIsWide();
  const versions = useVersions(projectId, path);
  const paths = usePaths();
  usePageTitle([
    { label: project.data?.name ?? (project.error ? t.overview.table.project : ''), to: paths.project(projectId) },
    { label: t.find.title, to: paths.find(path) },
    { label: path.split('/').at(-1) ?? path },
  ]);
  return (
    <div className={`grid flex-1 ${isWide ? 'grid-cols-[210px_minmax(0,1fr)]' : ''}`}>
      {isWide && <Neighbours key={projectId} projectId={projectId} path={path} />}
      <div className={`flex min-w-0 flex-col ${isWide ? 'col-start-2' : ''}`}>
        {!versions.versions && (
          <header className="border-line border-b px-5 py-4">
            <PageHeading className="break-all font-medium font-mono text-section">
              <Exact text={path} />
            </PageHeading>
          </header>
        )}
        {!versions.versions && !versions.error && <Skeleton />}
        {versions.error && <Problem error={versions.error} onRetry={versions.retry} />}
        {versions.versions?.length === 0 && !versions.hasMore && (
          <>
            <PageHeading className="sr-only">{path}</PageHeading>
            <Empty
              icon={FileSearch}
              title={versions.unreadable.length > 0 ? t.document.nowhereRead : t.document.nowhere}
            >
              {t.document.nowhereText}
            </Empty>
            <UnreadableNote of={versions.unreadable} />
          </>
        )}
        {versions.versions && versions.versions.length > 0 && (
          <Shown
            project={project.data}
            projectReadAtMs={byServiceClock(project.dataUpdatedAt)}
            projectId={projectId}
            path={path}
            versions={versions.versions}
            older={versions}
            unreadable={versions.unreadable}
          />
        )}
      </div>
    </div>
  );
}

interface ShownProps {
  project: Project | undefined;
  projectReadAtMs: number;
  projectId: string;
  path: string;
  versions: readonly Version[];
  older: OlderVersions;
  unreadable: readonly Unreadable[];
}

/** The source to restore a version from; none for the live one and for deletions. */
function restoreStart({ projectId, path }: ShownProps, version: Version, asOf: string | undefined) {
  const { source, backupId, at, change } = version;
  if (change === 'deleted') return undefined;
  // With a moment in the address, restore to that moment.
  if (asOf !== undefined) return { projectId, at: asOf, document: path };
  if (source === 'live') return undefined;
  return backupId ? { backupId, document: path, version: at } : { projectId, at, document: path };
}

function Shown(props: ShownProps) {
  const { project, projectId, path, versions, older, unreadable } = props;
  const [, setSearch] = useSearch();
  const zone = useZone();
  const paths = usePaths();
  const go = useGo();
  const canRestore = useCan('member');
  const [onlyChanged, setOnlyChanged] = useState(false);
  const live = useLiveFields(projectId, path);
  const isUnknown = live.error !== null;
  // If the database cannot be read, the newest known version is labelled as such, not as live.
  const known = useFields(projectId, path, isUnknown ? versions[0] : undefined);
  const nowFields = isUnknown ? known : live;
  // If nothing can be read, select the second newest.
  const now = known.error ? {} : nowFields.data;
  const { then, at, isOpen, isLost } = useThen({ projectId, path, versions, older, now });
  const step = (by: number) => {
    const place = versions.findIndex(({ id }) => id === then?.id);
    if (by > 0 && place === versions.length - 1 && older.hasMore) older.loadMore();
    const next = versions[Math.min(versions.length - 1, Math.max(0, place + by))];
    if (next) setSearch({ then: next.id }, { replace: true });
  };
  const isRefused = live.error?.code === 'SOURCE_AUTH_ERROR';
  const start: RestoreStart | undefined = then && restoreStart(props, then, at);
  const restoreTo = start && paths.newRestore({ ...start, step: isRefused ? 'where' : undefined });
  const thenFields = useFields(projectId, path, then);
  useKeys({ '[': () => step(1), ']': () => step(-1), r: restoreTo && canRestore ? () => go(restoreTo) : undefined });
  const problem = thenFields.error ?? known.error;
  const isRead = thenFields.data !== undefined && nowFields.data !== undefined;
  const changes = isRead ? countChanges(thenFields.data, nowFields.data) : { changed: 0, added: 0, removed: 0 };
  const others = useOthers(projectId, path);
  const momentWords = (version: Version) => formatDateTime(version.at, zone);
  const readAtMs = isUnknown || live.data === undefined ? undefined : byServiceClock(live.dataUpdatedAt);
  const isThere = live.data !== null;
  const coveredFrom = project?.pitr.coveredFrom;
  const until = project && standsStillAt(project.pitr, props.projectReadAtMs);
  return (
    <>
      <DocumentHead
        projectId={projectId}
        path={path}
        versions={versions}
        then={then}
        thenFields={thenFields.data}
        at={at}
        isThere={isUnknown ? undefined : isThere}
        isWholeStory={!older.hasMore && unreadable.length === 0}
        start={start}
        restoreTo={restoreTo}
        isRefused={isRefused}
        isSame={isRead && !isUnknown && isSameDocument(thenFields.data, nowFields.data)}
      />
      <VersionLine projectId={projectId} versions={versions} then={then} readAtMs={readAtMs} />
      <div className="grid flex-1 md:grid-cols-[216px_minmax(0,1fr)] xl:grid-cols-[264px_minmax(0,1fr)]">
        <aside className="border-line border-r max-md:border-r-0 max-md:border-b">
          <VersionList
            projectId={projectId}
            path={path}
            versions={versions}
            older={older}
            then={then}
            live={{ readAtMs, isThere, isUnknown }}
            onThen={(id) => setSearch({ then: id })}
          />
          <UnreadableNote of={unreadable} />
          <p className="flex gap-2 border-line border-t px-4 py-3 text-meta text-ink2">
            <Info size={15} aria-hidden className="mt-px shrink-0 text-held" />{' '}
            {coveredFrom
              ? t.document.hintPitr(formatDateTime(coveredFrom, zone), until && formatDateTime(until, zone))
              : t.document.hint}
          </p>
        </aside>
        <section className="flex min-w-0 flex-col">
          {live.error && (
            <div className="border-line border-b">
              <Problem
                error={live.error}
                onRetry={() => void live.refetch()}
                action={
                  isRefused &&
                  canRestore &&
                  project && <LinkButton to={paths.project(projectId)}>{t.document.reconnect(project.name)}</LinkButton>
                }
              />
              <p className="-mt-2 px-12 pb-4 text-table font-medium">{t.document.unknown}</p>
            </div>
          )}
          <div className="flex flex-wrap items-center gap-2 px-4 py-3 text-meta">
            <h2 className="mr-2 text-table font-semibold">{t.document.whatChanged}</h2>
            {isRead && changes.changed + changes.added + changes.removed === 0 && (
              <span className="rounded-tag bg-sunken px-2 py-0.5">{t.document.sameFields}</span>
            )}
            {changes.changed > 0 && (
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
          {!then && !isOpen && (
            <Empty icon={FileSearch} title={isLost ? t.document.lostThen : t.document.unknownThen}>
              {isLost ? t.document.lostThenText : t.document.unknownThenText}
            </Empty>
          )}
          {!problem && !isRead && (then || isOpen) && <Skeleton />}
          {isRead && then && (
            <DocumentDiff
              key={then.id}
              linkTo={linksInto(project, (to) => paths.document(projectId, to))}
              then={thenFields.data}
              now={nowFields.data}
              thenTitle={momentWords(then)}
              nowWord={isUnknown ? t.document.newestKnown : t.document.now}
              nowTitle={
                readAtMs === undefined
                  ? versions[0] && momentWords(versions[0])
                  : t.document.liveRead(formatClock(readAtMs, zone))
              }
              onlyChanged={onlyChanged}
            />
          )}
          {restoreTo && canRestore && !isRefused && isRead && (
            <div className="mt-auto flex gap-2 border-line border-t bg-bg px-4 py-3 text-table">
              <Undo2 size={15} aria-hidden className="mt-0.5 shrink-0 text-held" />
              <p>
                {!isUnknown && (
                  <b className="block font-medium">
                    {isThere
                      ? t.document.restoring(changes)
                      : t.document.bringsBack(Object.keys(thenFields.data ?? {}).length)}
                  </b>
                )}
                <span className="text-ink2">
                  {isUnknown ? t.document.unknownSafe : isThere ? t.document.safe : t.document.bringsBackSafe}{' '}
                  {t.document.others(others, path.split('/').slice(0, -1).join('/'))}
                </span>
              </p>
            </div>
          )}
        </section>
      </div>
    </>
  );
}
