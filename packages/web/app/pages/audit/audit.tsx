import { type AuditEntry, auditActions, dayMs, hourMs } from '@holdfast/contract';
import { Ban, Bot, ChevronDown, ChevronRight, Download, ScrollText, Server } from 'lucide-react';
import { useState } from 'react';
import { useAct, useAll, useList, useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Avatar } from '../../components/avatar.tsx';
import { Button } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { Filter, FilterBar } from '../../components/filters.tsx';
import { Box, List } from '../../components/list.tsx';
import { Menu } from '../../components/menu.tsx';
import { Empty, FilteredEmpty, FormProblem, NoPermission } from '../../components/states.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { saveStream } from '../../format/save-file.ts';
import { serviceNow } from '../../format/service-clock.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useSearch } from '../../url.ts';
import { AuditDetail } from './audit-detail.tsx';
import { ChainVerdict } from './chain-verdict.tsx';
import { type NameOf, subjectOf, wordsOf } from './subject.ts';

export function Page() {
  const canSee = useCan('admin');
  const crumbs = [{ label: t.audit.title }];
  if (!canSee)
    return (
      <PageFrame title={t.audit.title} crumbs={crumbs}>
        <Box>
          <NoPermission title={t.audit.forbiddenTitle}>{t.audit.forbiddenText}</NoPermission>
        </Box>
      </PageFrame>
    );
  return (
    <PageFrame title={t.audit.title} crumbs={crumbs} subtitle={<Subtitle />} actions={<ExportMenu />}>
      <Log />
    </PageFrame>
  );
}

function Subtitle() {
  const chain = useRead('verifyAuditLogs', {}, { everyMs: false }).data;
  return (
    <>
      {t.audit.subtitle} {chain && t.audit.keptFor(chain.keptDays)}
    </>
  );
}

function useFilters() {
  const [search, setSearch] = useSearch();
  const days = search.days ?? '7';
  // Rounded to the hour, so that the query key stays the same.
  const fromMs = Math.floor(serviceNow() / hourMs) * hourMs - Number(days) * dayMs;
  const query = {
    ...(days === 'all' ? {} : { from: new Date(fromMs).toISOString() }),
    ...(search.action ? { action: search.action } : {}),
    ...(search.who ? { actorId: search.who } : {}),
    ...(search.on ? { resourceType: search.on } : {}),
  };
  return { search, setSearch, days, query };
}

function ExportMenu() {
  const { query } = useFilters();
  const send = useAct('exportAuditLogs', {
    onDone: (stream, sent) => saveStream(`audit-log.${sent.query?.format}`, stream),
  });
  const save = (format: 'csv' | 'json' | 'ndjson') => send.mutate({ query: { ...query, format } });
  return (
    <>
      <FormProblem error={send.error} />
      <Menu
        trigger={
          <Button icon={Download} busy={send.isPending}>
            {t.audit.export}
          </Button>
        }
        items={(['csv', 'json', 'ndjson'] as const).map((format) => ({
          label: t.audit.exportAs[format],
          onSelect: () => save(format),
        }))}
      />
    </>
  );
}

const resourceTypes = [
  'backup',
  'restore',
  'drill',
  'project',
  'storage_destination',
  'schedule',
  'webhook',
  'organization',
  'member',
  'invitation',
  'service_account',
  'encryption_key',
  'session',
  'operation',
];

function Log() {
  const { search, setSearch, days, query } = useFilters();
  const list = useList('listAuditLogs', { query: { ...query, limit: 100 } });
  const members = useAll('listMembers', {}).rows ?? [];
  const actorName = (entry: AuditEntry) => members.find(({ userId }) => userId === entry.actor.id)?.name ?? undefined;
  const nameOf = useNames();
  const [open, setOpen] = useState<string | null>(null);
  const zone = useZone();
  const { filters } = t.audit;
  // Includes actions of former releases that occur in the log.
  const actions = [...new Set<string>([...auditActions, ...(list.rows?.map(({ action }) => action) ?? [])])].sort();
  const isFiltered = Boolean(search.action ?? search.who ?? search.on ?? search.days);
  return (
    <>
      <ChainVerdict />
      <FilterBar aside={zone} values={[search.days, search.action, search.who, search.on]}>
        <Filter
          isFirst
          required
          label={filters.days}
          value={days}
          onChange={(next) => setSearch({ days: next })}
          options={Object.entries(t.audit.days)}
        />
        <Filter
          label={filters.action}
          value={search.action}
          onChange={(action) => setSearch({ action })}
          options={actions.map((action) => [action, action])}
        />
        <Filter
          label={filters.who}
          value={search.who}
          onChange={(who) => setSearch({ who })}
          options={members.map(({ userId, email }) => [userId, email])}
        />
        <Filter
          label={filters.on}
          value={search.on}
          onChange={(on) => setSearch({ on })}
          options={resourceTypes.map((type) => [type, wordsOf(type)])}
        />
      </FilterBar>
      <List
        list={list}
        empty={<Empty icon={ScrollText} title={t.audit.empty} />}
        filteredEmpty={
          isFiltered && (
            <FilteredEmpty
              onClear={() => setSearch({ action: undefined, who: undefined, on: undefined, days: undefined })}
            />
          )
        }
        forbidden={{ title: t.audit.forbiddenTitle, text: t.audit.forbiddenText }}
      >
        {(rows) => (
          <DataTable
            label={t.audit.title}
            columns={columnsOf({ open, toggle: (id) => setOpen(id === open ? null : id), nameOf, actorName })}
            rows={rows}
            rowKey={({ id }) => id}
            hasMore={list.hasMore}
            isLoadingMore={list.isLoadingMore}
            loadMore={list.loadMore}
            tone={({ id }) => (id === open ? 'bg-bg' : undefined)}
            detail={(entry) =>
              entry.id === open ? <AuditDetail entry={entry} hashAfter={hashAfter(rows, entry)} /> : null
            }
            phone={(entry) => (
              <button
                type="button"
                className="block w-full text-left"
                aria-expanded={entry.id === open}
                onClick={() => setOpen(entry.id === open ? null : entry.id)}
              >
                <span className="flex justify-between gap-2">
                  <Action entry={entry} />
                  <span className="shrink-0 text-meta text-ink3">
                    <Time at={entry.timestamp} as="age" />
                  </span>
                </span>
                <span className="block truncate text-ink2">{subjectOf(entry, nameOf)}</span>
                <Actor entry={entry} name={actorName(entry)} />
              </button>
            )}
          />
        )}
      </List>
    </>
  );
}

/** Names of all existing records. */
function useNames(): NameOf {
  const named: Readonly<Record<string, readonly { id: string; name: string }[] | undefined>> = {
    project: useAll('listProjects', {}).rows,
    schedule: useAll('listSchedules', {}).rows,
    storage_destination: useAll('listStorageDestinations', {}).rows,
    webhook: useAll('listWebhooks', {}).rows,
  };
  return (type, id) => named[type]?.find((one) => one.id === id)?.name;
}

/** The hash of the entry after this one, if that is loaded. */
const hashAfter = (rows: readonly AuditEntry[], { hash }: AuditEntry) =>
  rows.find(({ previousHash }) => previousHash === hash)?.hash;

interface ColumnsOptions {
  open: string | null;
  toggle: (id: string) => void;
  nameOf: NameOf;
  /** Name of the person. */
  actorName: (entry: AuditEntry) => string | undefined;
}

function columnsOf({ open, toggle, nameOf, actorName }: ColumnsOptions): Column<AuditEntry>[] {
  const { columns } = t.audit;
  return [
    {
      id: 'time',
      header: columns.time,
      className: 'whitespace-nowrap',
      cell: ({ timestamp }) => <Time at={timestamp} as="near" />,
    },
    { id: 'action', header: columns.action, cell: (entry) => <Action entry={entry} /> },
    {
      id: 'on',
      header: columns.on,
      from: 'md',
      cell: (entry) => <Cut text={subjectOf(entry, nameOf)} className="max-w-36 text-ink2 xl:max-w-72" />,
    },
    { id: 'who', header: columns.who, cell: (entry) => <Actor entry={entry} name={actorName(entry)} /> },
    {
      id: 'from',
      header: columns.from,
      from: 'xl',
      cell: ({ context }) => (
        <>
          {context.ip} <span className="text-ink3">{context.location}</span>
        </>
      ),
    },
    {
      id: 'open',
      header: '',
      align: 'right',
      cell: (entry) => (
        <button
          type="button"
          data-row=""
          aria-expanded={entry.id === open}
          aria-label={t.common.about(t.audit.open, `${entry.action} ${subjectOf(entry, nameOf)}`)}
          onClick={() => toggle(entry.id)}
          className="inline-flex size-7 items-center justify-center rounded-tag text-ink2 hover:bg-sunken"
        >
          {entry.id === open ? <ChevronDown size={15} aria-hidden /> : <ChevronRight size={15} aria-hidden />}
        </button>
      ),
    },
  ];
}

function Action({ entry }: { entry: AuditEntry }) {
  const isDenied = entry.action.endsWith('.denied');
  return (
    <code
      className={`inline-flex min-w-0 items-center gap-1.5 font-mono max-xl:text-meta max-md:break-all ${isDenied ? 'text-fail' : ''}`}
    >
      {isDenied && <Ban size={14} aria-hidden />}
      {entry.action}
    </code>
  );
}

function Actor({ entry, name }: { entry: AuditEntry; name: string | undefined }) {
  const { actor } = entry;
  const email = actor.email ?? (actor.type === 'system' ? t.audit.service : t.audit.anonymous);
  const mark =
    actor.type === 'user' ? (
      <Avatar name={name || email} />
    ) : (
      <span className="inline-flex size-6 shrink-0 items-center justify-center rounded-full bg-sunken text-ink2">
        {actor.type === 'service_account' ? <Bot size={13} aria-hidden /> : <Server size={13} aria-hidden />}
      </span>
    );
  return (
    <span className="flex min-w-0 items-center gap-2">
      {mark}
      <span className="truncate md:max-w-28 xl:max-w-96" title={email}>
        {email}
      </span>
    </span>
  );
}
