import type { ItemOf, Operations } from '@holdfast/contract';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { List } from '../../components/list.tsx';
import { useNameFilter } from '../../components/name-filter.tsx';
import { NotForRole } from '../../components/not-for-role.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { Empty } from '../../components/states.tsx';
import { State } from '../../components/status.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { standingOf } from '../../format/webhooks.ts';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useGo, usePaths, useSearch } from '../../url.ts';
import { WebhookForm } from './webhook-form.tsx';

type Webhook = ItemOf<Operations['listWebhooks']>;

function WebhookState({ webhook }: { webhook: Webhook }) {
  const { tone, word } = standingOf(webhook);
  return <State tone={tone}>{t.webhooks[word]}</State>;
}

const columns: Column<Webhook>[] = [
  {
    id: 'name',
    header: t.webhooks.columns.name,
    isLink: true,
    cell: ({ name }) => <Cut text={name} className="font-medium" />,
  },
  { id: 'state', header: t.webhooks.columns.state, cell: (webhook) => <WebhookState webhook={webhook} /> },
  {
    id: 'url',
    header: t.webhooks.columns.url,
    from: 'md',
    className: 'max-w-80 truncate',
    cell: ({ url }) => <code className="font-mono text-meta">{url}</code>,
  },
  {
    id: 'events',
    header: t.webhooks.columns.events,
    from: 'lg',
    className: 'max-w-60 truncate',
    cell: ({ events }) => <span className="text-ink2">{events.join(', ')}</span>,
  },
  {
    id: 'last',
    header: t.webhooks.columns.last,
    cell: ({ lastTriggeredAt }) =>
      lastTriggeredAt ? <Time at={lastTriggeredAt} as="age" /> : <span className="text-ink3">{t.common.never}</span>,
  },
];

export function Page() {
  const webhooks = useAll('listWebhooks', {});
  const filter = useNameFilter(webhooks.rows, ({ name, url }) => `${name} ${url}`);
  const canEdit = useCan('admin');
  const paths = usePaths();
  const go = useGo();
  const [search, setSearch] = useSearch();
  const [made, setMade] = useState<{ id: string; secret: string | null } | null>(null);
  const close = () => setSearch({ new: undefined }, { replace: true });
  const add = canEdit && (
    <Button kind="primary" icon={Plus} onClick={() => setSearch({ new: '1' })}>
      {t.webhooks.add}
    </Button>
  );
  return (
    <PageFrame
      title={t.webhooks.title}
      crumbs={[{ label: t.webhooks.title }]}
      subtitle={t.webhooks.subtitle}
      actions={add}
    >
      {search.new && !canEdit && <NotForRole>{t.common.linkNotForYou.admin}</NotForRole>}
      {filter.field}
      <List
        list={{ ...webhooks, rows: filter.rows }}
        filteredEmpty={filter.empty}
        empty={
          <Empty icon={WebhookIcon} title={t.webhooks.empty} action={add}>
            {canEdit ? t.webhooks.emptyText : t.common.setUpBy.admin}
          </Empty>
        }
      >
        {(rows) => (
          <DataTable
            label={t.webhooks.title}
            columns={columns}
            rows={rows}
            rowKey={({ id }) => id}
            to={({ id }) => paths.webhook(id)}
            phone={(webhook) => (
              <>
                <span className="flex justify-between gap-2">
                  <span className="min-w-0 truncate font-medium" dir="auto">
                    {webhook.name}
                  </span>
                  <WebhookState webhook={webhook} />
                </span>
                <span className="block truncate font-mono text-meta text-ink3">{webhook.url}</span>
              </>
            )}
          />
        )}
      </List>
      {search.new && canEdit && !made && (
        <Dialog title={t.webhooks.add} onClose={close}>
          <WebhookForm
            onCancel={close}
            onDone={(webhook) =>
              webhook.secret === undefined
                ? go(paths.webhook(webhook.id))
                : setMade({ id: webhook.id, secret: webhook.secret })
            }
          />
        </Dialog>
      )}
      {made && (
        <SecretOnce
          title={t.webhooks.secretTitle}
          text={t.webhooks.secretText}
          secret={made.secret}
          lost={t.webhooks.secretLost}
          onClose={() => go(paths.webhook(made.id))}
        />
      )}
    </PageFrame>
  );
}
