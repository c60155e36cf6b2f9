import { Send, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Draft } from '../../components/draft.tsx';
import { MoreMenu } from '../../components/menu.tsx';
import { NotForRole } from '../../components/not-for-role.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem } from '../../components/states.tsx';
import { Badge } from '../../components/status.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { standingOf } from '../../format/webhooks.ts';
import { PageFrame, PageSkeleton, ProblemPage } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useParam, usePaths, useSearch } from '../../url.ts';
import { Deliveries } from './deliveries.tsx';
import { RecoverDialog } from './recover-dialog.tsx';
import { TestDialog } from './test-dialog.tsx';
import type { WebhookDetail } from './webhook-detail.ts';
import { WebhookEvents, WebhookSecret, WebhookSettings } from './webhook-tabs.tsx';

export function Page() {
  const webhookId = useParam('webhookId');
  const webhook = useRead('getWebhook', { params: { webhookId } });
  if (webhook.error && !webhook.data)
    return <ProblemPage error={webhook.error} onRetry={() => void webhook.refetch()} from="webhooks" />;
  return webhook.data ? <Shown key={webhookId} webhook={webhook.data} /> : <PageSkeleton />;
}

function Shown({ webhook }: { webhook: WebhookDetail }) {
  const paths = usePaths();
  const canEdit = useCan('admin');
  const [{ tab = 'deliveries' }] = useSearch();
  const { tabs } = t.webhooks;
  const { tone, word } = standingOf(webhook);
  return (
    <PageFrame
      title={webhook.name}
      crumbs={[{ label: t.webhooks.title, to: paths.webhooks }, { label: webhook.name }]}
      badge={<Badge tone={tone}>{t.webhooks[word]}</Badge>}
      subtitle={
        <>
          <code className="break-all font-mono">{webhook.url}</code> ·{' '}
          {t.webhooks.formats[webhook.format].split(':')[0]} · {webhook.events.join(', ')}
        </>
      }
      actions={canEdit && <Actions webhook={webhook} />}
    >
      {!webhook.enabled && <Disabled webhook={webhook} />}
      <Tabs
        label={tabs.label}
        current={tab}
        tabs={[
          { id: 'deliveries', label: tabs.deliveries },
          { id: 'events', label: tabs.events },
          ...(canEdit
            ? [
                { id: 'secret', label: tabs.secret },
                { id: 'settings', label: tabs.settings },
              ]
            : []),
        ]}
      />
      {!canEdit && (tab === 'secret' || tab === 'settings') && <NotForRole>{t.common.linkNotForYou.admin}</NotForRole>}
      {tab === 'deliveries' && <Deliveries webhook={webhook} />}
      {tab === 'events' && (
        <Draft version={webhook.updatedAt}>
          <WebhookEvents webhook={webhook} />
        </Draft>
      )}
      {tab === 'secret' && canEdit && <WebhookSecret webhook={webhook} />}
      {tab === 'settings' && canEdit && (
        <Draft version={webhook.updatedAt}>
          <WebhookSettings webhook={webhook} />
        </Draft>
      )}
    </PageFrame>
  );
}

/** Why nothing is sent, and how to enable it. */
function Disabled({ webhook }: { webhook: WebhookDetail }) {
  const canEdit = useCan('admin');
  const enable = useAct('toggleWebhook');
  const isGone = webhook.disabledBecause === 'gone';
  return (
    <Panel tone="risk" title={isGone ? t.webhooks.goneTitle : t.webhooks.disabledTitle}>
      <p className="text-table text-ink2">{isGone ? t.webhooks.goneNote : t.webhooks.disabledNote}</p>
      {canEdit && (
        <div className="mt-3">
          <Button
            kind="primary"
            busy={enable.isPending}
            onClick={() => enable.mutate({ params: { webhookId: webhook.id }, body: { enabled: true } })}
          >
            {t.webhooks.enable}
          </Button>
        </div>
      )}
      <FormProblem error={enable.error} />
    </Panel>
  );
}

function Actions({ webhook }: { webhook: WebhookDetail }) {
  const paths = usePaths();
  const go = useGo();
  const params = { webhookId: webhook.id };
  const [asking, setAsking] = useState<'delete' | 'recover' | 'test' | null>(null);
  const toggle = useAct('toggleWebhook');
  const remove = useAct('deleteWebhook', { onDone: () => go(paths.webhooks, { evenUnsaved: true }) });
  return (
    <>
      <FormProblem error={toggle.error} />
      <Button onClick={() => setAsking('recover')}>{t.webhooks.recover}</Button>
      <Button icon={Send} onClick={() => setAsking('test')}>
        {t.webhooks.test}
      </Button>
      <MoreMenu
        label={t.common.moreActions}
        items={[
          {
            label: webhook.enabled ? t.webhooks.disable : t.webhooks.enable,
            onSelect: () => toggle.mutate({ params, body: { enabled: !webhook.enabled } }),
          },
          'line',
          { label: t.webhooks.delete, icon: Trash2, danger: true, onSelect: () => setAsking('delete') },
        ]}
      />
      {asking === 'test' && <TestDialog webhook={webhook} onClose={() => setAsking(null)} />}
      {asking === 'recover' && <RecoverDialog webhookId={webhook.id} onClose={() => setAsking(null)} />}
      {asking === 'delete' && (
        <Confirm
          title={t.webhooks.deleteTitle(webhook.name)}
          action={t.webhooks.delete}
          danger
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setAsking(null)}
          onConfirm={() => remove.mutate({ params })}
        >
          <p>{t.webhooks.deleteText}</p>
        </Confirm>
      )}
    </>
  );
}
