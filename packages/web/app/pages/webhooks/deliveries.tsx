import { allowedEvents } from '@holdfast/contract';
import type { Page as AnswerPage, HoldfastError } from '@holdfast/contract/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Send } from 'lucide-react';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { keyOf } from '../../api/calls.ts';
import { clientFor } from '../../api/client.ts';
import { useWorkplace, useZone } from '../../api/organization.tsx';
import { Filter, FilterBar } from '../../components/filters.tsx';
import { List } from '../../components/list.tsx';
import { Empty, FilteredEmpty } from '../../components/states.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { useIsWide } from '../../components/use-is-phone.ts';
import { serviceNow } from '../../format/service-clock.ts';
import { formatNearDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { useParam, usePaths, useSearch } from '../../url.ts';
import { AttemptMarks } from './attempt-marks.tsx';
import { type Delivery, DeliveryEvent, DeliveryState } from './delivery-state.tsx';
import { DeliveryView } from './delivery-view.tsx';
import type { WebhookDetail } from './webhook-detail.ts';

/** Only the time of day for today. */
function NearTime({ at }: { at: string }) {
  const zone = useZone();
  const isToday = formatNearDay(at, zone, useNow()) === formatNearDay(serviceNow(), zone);
  return <Time at={at} as={isToday ? 'clock' : 'near'} />;
}

const columns: Column<Delivery>[] = [
  {
    id: 'status',
    header: t.webhooks.deliveries.columns.status,
    cell: (delivery) => <DeliveryState delivery={delivery} />,
  },
  {
    id: 'event',
    header: t.webhooks.deliveries.columns.event,
    isLink: true,
    cell: (delivery) => <DeliveryEvent delivery={delivery} />,
  },
  {
    id: 'time',
    header: t.webhooks.deliveries.columns.time,
    className: 'whitespace-nowrap',
    cell: ({ timestamp }) => <NearTime at={timestamp} />,
  },
  {
    id: 'attempts',
    header: t.webhooks.deliveries.columns.attempts,
    cell: ({ attempts, status }) => <AttemptMarks attempts={attempts} status={status} />,
  },
  {
    id: 'answer',
    header: t.webhooks.deliveries.columns.answer,
    align: 'right',
    cell: ({ statusCode, status }) => (
      <span className={status === 'delivered' ? 'text-ink2' : 'font-semibold'}>{statusCode ?? '—'}</span>
    ),
  },
];

/** The newest failed delivery, else the newest. It stays selected when others arrive or it leaves the list. */
function useProposed(rows: readonly Delivery[] | undefined, filters: string): string | undefined {
  const [former, setFormer] = useState<{ filters: string; id: string }>();
  const kept = former?.filters === filters ? former.id : undefined;
  const id = kept ?? (rows?.find(({ status, isTest }) => status === 'failed' && !isTest) ?? rows?.[0])?.id;
  useEffect(() => {
    if (id !== undefined) setFormer({ filters, id });
  }, [filters, id]);
  return id;
}

/** The list of deliveries at the left, the selected one at the right. */
export function Deliveries({ webhook }: { webhook: WebhookDetail }) {
  const { id: webhookId, format } = webhook;
  const chosen = useParam('deliveryId');
  const paths = usePaths();
  const [search, setSearch] = useSearch();
  const query = {
    limit: 100,
    ...(search.status ? { status: search.status as Delivery['status'] } : {}),
    ...(search.event ? { eventType: search.event } : {}),
  };
  const { organization } = useWorkplace();
  const input = { params: { webhookId }, query };
  const answer = useInfiniteQuery<AnswerPage<{ deliveries: Delivery[] }>, HoldfastError>({
    queryKey: [...keyOf(organization.id, 'listDeliveries', input), 'pages'],
    queryFn: ({ pageParam, signal }) =>
      clientFor(organization.id).listDeliveries({
        ...input,
        query: { ...query, ...(pageParam === undefined ? {} : { cursor: String(pageParam) }) },
        signal,
      }),
    initialPageParam: undefined,
    getNextPageParam: (last) => last.pagination.nextCursor ?? undefined,
    // Every page of a long list would be a call of its own.
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 0) <= 1 && 4000,
  });
  const rows = useMemo(() => answer.data?.pages.flatMap(({ data }) => data.deliveries), [answer.data]);
  const loadMore = useCallback(() => void answer.fetchNextPage(), [answer.fetchNextPage]);
  const { deliveries } = t.webhooks;
  const isWide = useIsWide();
  const proposed = useProposed(rows, JSON.stringify(query));
  const shownId = chosen || (isWide ? proposed : undefined);
  return (
    <div className="grid items-start gap-5 xl:grid-cols-[520px_1fr]">
      <div className={`flex min-w-0 flex-col gap-3 ${chosen ? 'max-xl:order-2' : ''}`}>
        <FilterBar aside={deliveries.newestFirst} values={[search.status, search.event]}>
          <Filter
            isFirst
            label={deliveries.columns.status}
            value={search.status}
            onChange={(status) => setSearch({ status })}
            options={(['pending', 'delivered', 'failed'] as const).map((status) => [status, deliveries.status[status]])}
          />
          <Filter
            label={deliveries.columns.event}
            value={search.event}
            onChange={(event) => setSearch({ event })}
            options={allowedEvents(format).map((name) => [name, name])}
          />
        </FilterBar>
        <List
          list={{ rows, error: answer.error, retry: () => void answer.refetch() }}
          empty={
            <Empty icon={Send} title={deliveries.empty}>
              {deliveries.emptyText}
            </Empty>
          }
          filteredEmpty={
            (search.status || search.event) && (
              <FilteredEmpty onClear={() => setSearch({ status: undefined, event: undefined })} />
            )
          }
        >
          {(shown) => (
            <DataTable
              label={t.webhooks.tabs.deliveries}
              columns={columns}
              rows={shown}
              hasMore={answer.hasNextPage}
              isLoadingMore={answer.isFetchingNextPage}
              loadMore={loadMore}
              rowKey={({ id }) => id}
              to={({ id }) => paths.delivery(webhookId, id, { status: search.status, event: search.event })}
              tone={({ id }) => (id === shownId ? 'bg-held-weak' : undefined)}
              phone={(delivery) => (
                <>
                  <span className="flex justify-between gap-2">
                    <DeliveryEvent delivery={delivery} />
                    <DeliveryState delivery={delivery} />
                  </span>
                  <span className="flex justify-between text-meta text-ink3">
                    <Time at={delivery.timestamp} as="near" />
                    <AttemptMarks attempts={delivery.attempts} status={delivery.status} />
                  </span>
                </>
              )}
            />
          )}
        </List>
      </div>
      {shownId && (
        <DeliveryView
          key={shownId}
          webhook={webhook}
          deliveryId={shownId}
          delivery={rows?.find(({ id }) => id === shownId)}
        />
      )}
    </div>
  );
}
