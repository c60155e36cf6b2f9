import { FileSearch } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useAll, useList } from '../../api/calls.ts';
import { useNewestBackup } from '../../api/newest-backup.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { Field, SelectInput, TextInput } from '../../components/field.tsx';
import { Box } from '../../components/list.tsx';
import { Empty, Problem, Skeleton } from '../../components/states.tsx';
import { formatDateTime } from '../../format/times.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { usePaths, useSearch } from '../../url.ts';
import { NoProject, UnknownProject } from '../projects/no-project.tsx';
import { FoundDocuments } from './found-documents.tsx';
import { ParentsWithSubcollection } from './parents-with-subcollection.tsx';
import { TextSearch } from './text-search.tsx';

/** Finds documents by path, prefix or text in the newest backup; a full path opens its versions. */
export function Page() {
  const [search, setSearch] = useSearch();
  const projects = useAll('listProjects', {});
  const [text, setText] = useState(search.q ?? '');
  const [asked, setAsked] = useState(search.q);
  // Follow the address when it changes by Back or by a link.
  if (asked !== search.q) {
    setAsked(search.q);
    setText(search.q ?? '');
  }
  const project =
    projects.rows?.find(({ id, connection }) =>
      search.project === undefined ? connection.status === 'connected' : id === search.project,
    ) ?? (search.project === undefined ? projects.rows?.[0] : undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSearch({ q: text });
  };
  return (
    <PageFrame title={t.find.title} crumbs={[{ label: t.find.title }]} subtitle={t.find.subtitle}>
      {projects.rows?.length !== 0 && (
        <form onSubmit={submit} className="grid items-end gap-3 md:grid-cols-[220px_1fr_auto]">
          <Field label={t.find.project}>
            <SelectInput
              value={project?.id ?? ''}
              onChange={(event) => setSearch({ project: event.target.value, at: undefined })}
            >
              {!project && <option value="" />}
              {projects.rows?.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </SelectInput>
          </Field>
          <Field label={t.find.path}>
            <TextInput
              mono
              data-filter=""
              value={text}
              placeholder={t.find.placeholder}
              onChange={(event) => setText(event.target.value)}
            />
          </Field>
          <Button kind="primary" type="submit" icon={FileSearch}>
            {t.find.submit}
          </Button>
        </form>
      )}
      {projects.error && (
        <Box>
          <Problem error={projects.error} onRetry={() => void projects.refetch()} />
        </Box>
      )}
      {projects.rows?.length === 0 && (
        <Box>
          <NoProject icon={FileSearch}>{t.find.noProjectText}</NoProject>
        </Box>
      )}
      {!project && projects.rows && projects.rows.length > 0 && <UnknownProject icon={FileSearch} />}
      {project && (
        <Found
          key={`${project.id} ${search.q}`}
          projectId={project.id}
          text={(search.q ?? '').replace(/^\/+|\/+$/g, '')}
          isPath={search.q?.includes('/') ?? false}
          at={search.at}
        />
      )}
    </PageFrame>
  );
}

interface FoundProps {
  projectId: string;
  text: string;
  /** With a slash it is a path; else it may be an id or a text in a document. */
  isPath: boolean;
  /** Searches as of this captured moment; absent: in the newest backup. */
  at: string | undefined;
}

function Found({ projectId, text, isPath, at }: FoundProps) {
  const zone = useZone();
  const paths = usePaths();
  const canRun = useCan('member');
  const { backup, ...newest } = useNewestBackup(projectId);
  const segments = text.split('/');
  const isDocument = segments.length % 2 === 0 && segments.every(Boolean);
  const [collection, prefix] = isDocument ? [segments.slice(0, -1).join('/'), segments.at(-1) ?? ''] : [text, ''];
  const query = { collection, limit: 50, ...(prefix ? { prefix } : {}) };
  const inBackup = useList(
    'listBackupDocuments',
    { params: { backupId: backup?.id ?? '' }, query },
    { enabled: backup !== undefined && text !== '' && at === undefined, everyMs: false },
  );
  const asOfThen = useList(
    'viewPitrDocuments',
    { params: { projectId }, query: { ...query, at: at ?? '' } },
    { enabled: text !== '' && at !== undefined, everyMs: false },
  );
  const found = at === undefined ? inBackup : asOfThen;
  if (newest.error)
    return (
      <Box>
        <Problem error={newest.error} onRetry={() => void newest.refetch()} />
      </Box>
    );
  if (newest.isRead && !backup && at === undefined)
    return (
      <Box>
        <Empty
          icon={FileSearch}
          title={t.find.noBackup}
          action={
            canRun && (
              <LinkButton kind="primary" to={`${paths.backups}?new=${projectId}`}>
                {t.backups.backUpNow}
              </LinkButton>
            )
          }
        />
      </Box>
    );
  if (text === '')
    return (
      <Box>
        <Empty
          icon={FileSearch}
          title={at === undefined ? t.find.hint : t.find.hintAt(formatDateTime(at, zone))}
          action={
            backup && at === undefined && <LinkButton to={paths.browse(backup.id)}>{t.find.lookInside}</LinkButton>
          }
        />
      </Box>
    );
  // A lost collection is missing from the newest backup: offer its path in all backups.
  const isGone = found.error?.code === 'COLLECTION_NOT_FOUND';
  if (found.error && !isGone)
    return (
      <Box>
        <Problem error={found.error} onRetry={found.retry} />
      </Box>
    );
  if (isGone && at === undefined && backup && !isPath) return <TextSearch backup={backup} text={text} />;
  const documents = isGone ? [] : found.rows;
  if (!documents || (!backup && at === undefined)) return <Skeleton />;
  const openPath = isDocument && (
    <LinkButton to={paths.document(projectId, text, { at })} className="h-auto! max-w-full py-1.5">
      <span className="min-w-0 whitespace-normal break-all">{t.find.openPath(text)}</span>
    </LinkButton>
  );
  if (documents.length === 0 && found.hasMore)
    return (
      <Box>
        <Empty
          icon={FileSearch}
          title={t.browse.notAllSearched}
          action={
            <Button busy={found.isLoadingMore} onClick={found.loadMore}>
              {t.browse.searchOn}
            </Button>
          }
        />
      </Box>
    );
  if (documents.length === 0)
    return (
      <Box>
        <Empty icon={FileSearch} title={t.browse.noDocuments} action={openPath}>
          {isGone && !isDocument && at === undefined && backup ? (
            <ParentsWithSubcollection backupId={backup.id} collection={text} otherwise={t.find.noCollection} />
          ) : at === undefined ? (
            t.find.none
          ) : (
            t.find.noneAt
          )}
        </Empty>
      </Box>
    );
  return (
    <FoundDocuments
      title={
        at === undefined
          ? backup && t.find.inNewest(formatDateTime(backup.snapshotTime ?? backup.createdAt, zone))
          : t.find.asOf(formatDateTime(at, zone))
      }
      projectId={projectId}
      documents={documents}
      at={at}
      more={found}
      moreWord={t.common.loadMore}
    >
      {openPath && !documents.some(({ path }) => path === text) && <div className="mt-3">{openPath}</div>}
    </FoundDocuments>
  );
}
