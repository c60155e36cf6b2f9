import { useRead } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Draft } from '../../components/draft.tsx';
import { NotForRole } from '../../components/not-for-role.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useSearch } from '../../url.ts';
import { DangerZone } from './danger-zone.tsx';
import { EncryptionKey } from './encryption-key.tsx';
import { General } from './general.tsx';
import { Notifications } from './notifications.tsx';
import { ServiceAccount } from './service-account.tsx';
import { Subscription } from './subscription.tsx';

export function Page() {
  const organization = useRead('getOrganization', {});
  const [search] = useSearch();
  const isAdmin = useCan('admin');
  const isOwner = useCan('owner');
  const { tabs } = t.settings;
  const offered = [
    { id: 'general', label: tabs.general },
    { id: 'notifications', label: tabs.notifications },
    ...(isAdmin ? [{ id: 'key', label: tabs.key }] : []),
    { id: 'encryption', label: tabs.encryption },
    ...(isOwner
      ? [
          { id: 'plan', label: tabs.plan },
          { id: 'danger', label: tabs.danger },
        ]
      : []),
  ];
  // An unknown tab shows the first one; so does one this role may not open, with a note.
  const tab = offered.some(({ id }) => id === search.tab) ? search.tab : 'general';
  const withheld = search.tab !== tab && (search.tab === 'key' || search.tab === 'plan' || search.tab === 'danger');
  return (
    <PageFrame title={t.settings.title} crumbs={[{ label: t.settings.title }]}>
      <Tabs label={tabs.label} current={tab ?? 'general'} tabs={offered} />
      {withheld && <NotForRole>{search.tab === 'key' ? t.settings.forAdmins : t.settings.forOwner}</NotForRole>}
      {organization.error && !organization.data && (
        <Problem error={organization.error} onRetry={() => void organization.refetch()} />
      )}
      {!organization.data && <Skeleton />}
      {organization.data && tab === 'general' && (
        <Draft version={organization.data.updatedAt}>
          <General organization={organization.data} />
        </Draft>
      )}
      {organization.data && tab === 'notifications' && (
        <Draft version={organization.data.updatedAt}>
          <Notifications organization={organization.data} />
        </Draft>
      )}
      {tab === 'key' && isAdmin && <ServiceAccount />}
      {organization.data && tab === 'encryption' && <EncryptionKey />}
      {tab === 'plan' && isOwner && <Subscription />}
      {organization.data && tab === 'danger' && isOwner && <DangerZone organization={organization.data} />}
    </PageFrame>
  );
}
