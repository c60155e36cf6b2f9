import type { AuditEntry } from '@holdfast/contract';
import { Link2 } from 'lucide-react';
import type { ReactNode } from 'react';
import { useAll, useRead } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { TextLink } from '../../components/button.tsx';
import { CopyButton, Id } from '../../components/copy.tsx';
import { Facts } from '../../components/panel.tsx';
import { formatDateTime } from '../../format/times.ts';
import { nameOfAgent } from '../../format/user-agent.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { momentOf } from '../backups/shared.tsx';
import { pathOf, whichOf } from './subject.ts';

interface AuditDetailProps {
  entry: AuditEntry;
  /** The hash of the next entry, if that is loaded too. */
  hashAfter: string | undefined;
}

export function AuditDetail({ entry, hashAfter }: AuditDetailProps) {
  const to = pathOf(entry.resource, usePaths());
  const told = useTold(entry);
  const rest = Object.entries(entry.details).filter(([name]) => !told.names.has(name));
  return (
    <div className="grid gap-6 border-held border-l-2 px-5 py-4 md:grid-cols-[1fr_300px]">
      <Facts
        rows={[
          ...told.rows,
          ...rest.map(([name, value]) => [name, <Plain key={name} value={value} />] as const),
          entry.resource.id !== null && [
            t.audit.facts.resource,
            to ? (
              <TextLink key="r" to={to} className="font-mono text-meta">
                {entry.resource.id}
              </TextLink>
            ) : (
              <Id key="r" id={entry.resource.id} keep={30} />
            ),
          ],
          entry.context.userAgent !== null && [
            t.audit.facts.client,
            <span key="u" title={entry.context.userAgent}>
              {nameOfAgent(entry.context.userAgent)}
            </span>,
          ],
          entry.requestId !== null && [t.audit.facts.request, <Id key="q" id={entry.requestId} keep={30} />],
          [t.audit.facts.id, <Id key="i" id={entry.id} keep={30} />],
        ]}
      />
      <div className="text-table">
        <p className="flex items-center gap-2 font-medium">
          <Link2 size={15} aria-hidden className="text-held" /> {t.audit.chainPlace}
        </p>
        <ol className="mt-2">
          <Place word={t.audit.before} hash={isFirst(entry) ? t.audit.first : entry.previousHash} />
          <Place word={t.audit.thisEntry} hash={entry.hash} isThis isLast={hashAfter === undefined} />
          {hashAfter !== undefined && <Place word={t.audit.after} hash={hashAfter} isLast />}
        </ol>
        <p className="mt-1 text-meta text-ink3">{t.audit.hashHint}</p>
      </div>
    </div>
  );
}

const isFirst = ({ previousHash }: AuditEntry) => /^0+$/.test(previousHash);

function Plain({ value }: { value: unknown }) {
  return (
    <code className="break-all font-mono text-meta">{typeof value === 'string' ? value : JSON.stringify(value)}</code>
  );
}

interface PlaceProps {
  word: string;
  hash: string;
  isThis?: boolean;
  isLast?: boolean;
}

/** One link of the chain. */
function Place({ word, hash, isThis, isLast }: PlaceProps) {
  const isHash = /^[0-9a-f]{64}$/.test(hash);
  return (
    <li className="relative flex items-center gap-2 py-1">
      {!isLast && <span aria-hidden="true" className="absolute top-4 -bottom-3 left-[5px] w-0.5 bg-held-mark" />}
      <span
        aria-hidden="true"
        className={`z-10 size-3 shrink-0 rounded-full border-2 ${isThis ? 'border-held bg-held' : 'border-held-mark bg-surface'}`}
      />
      <span className={`w-24 ${isThis ? 'font-medium' : 'text-ink2'}`}>{word}</span>
      {isHash ? (
        <>
          <code className="font-mono text-meta">
            {hash.slice(0, 8)} {hash.slice(8, 12)}…
          </code>
          <CopyButton text={hash} />
        </>
      ) : (
        <span className="text-ink3">{hash}</span>
      )}
    </li>
  );
}

type Row = readonly [string, ReactNode];

/** Known details in words; the others as they are. */
function useTold(entry: AuditEntry): { rows: Row[]; names: ReadonlySet<string> } {
  const paths = usePaths();
  const zone = useZone();
  const { details, resource } = entry;
  const projects = useAll('listProjects', {}).rows;
  const idOf = (name: string) => (typeof details[name] === 'string' ? details[name] : undefined);
  const projectOf = (name: string) => projects?.find(({ id }) => id === idOf(name));
  const isRestore = resource.type === 'restore';
  const backupId = isRestore ? idOf('backupId') : undefined;
  const backup = useRead(
    'getBackup',
    { params: { backupId: backupId ?? '' } },
    { enabled: backupId !== undefined, everyMs: false },
  ).data;
  const { detailNames: words, how } = t.audit;
  const rows: Row[] = [];
  const names = new Set<string>();
  const tell = (row: Row, ...told: string[]) => {
    rows.push(row);
    for (const name of told) names.add(name);
  };
  const [source, target] = [projectOf('projectId'), projectOf('targetProjectId')];
  const at = idOf('pointInTime') ?? (backup && momentOf(backup));
  if (isRestore && source && at)
    tell(
      [
        words.from,
        <span key="f">
          {source.name},{' '}
          {backupId ? (
            <TextLink to={paths.backup(backupId)}>{formatDateTime(at, zone)}</TextLink>
          ) : (
            formatDateTime(at, zone)
          )}{' '}
          {zone !== 'UTC' && <span className="text-ink3">{t.document.utc(formatDateTime(at, 'UTC'))}</span>}
        </span>,
      ],
      ...['backupId', 'pointInTime', 'projectId'],
    );
  else if (source) tell([isRestore ? words.from : words.project, source.name], 'projectId');
  if (target)
    tell(
      [
        words.into,
        <span key="i">
          {target.name} <code className="font-mono text-meta">{target.sourceProjectId}</code>
        </span>,
      ],
      'targetProjectId',
    );
  const undoOf = idOf('undoOf');
  if (undoOf)
    tell(
      [
        words.undoes,
        <TextLink key="u" to={paths.restore(undoOf)} className="font-mono text-meta">
          {undoOf}
        </TextLink>,
      ],
      'undoOf',
    );
  else if (isRestore && details.targetProjectId)
    tell(
      [words.which, whichOf(entry) ?? words.everything],
      ...(Array.isArray(details.documents) && details.documents.length > 1 ? [] : ['documents']),
      ...['collections', 'documentCount'],
    );
  const mode = t.restore.modes[idOf('mergeMode') as keyof typeof t.restore.modes];
  const more = (Object.keys(how) as (keyof typeof how)[]).filter((name) => details[name] === true);
  const ways = [...(mode ? [mode] : []), ...more.map((name) => how[name])];
  if (isRestore && ways.length > 0) tell([words.how, ways.join(', ')], 'mergeMode', ...Object.keys(how));
  const askedBy = idOf('askedBy');
  if (askedBy) tell([words.askedBy, askedBy], 'askedBy');
  return { rows, names };
}
