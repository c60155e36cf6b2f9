import { roleAtLeast } from '@holdfast/contract';
import { UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { useAct, useAll } from '../../api/calls.ts';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { Avatar } from '../../components/avatar.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { List } from '../../components/list.tsx';
import { useNameFilter } from '../../components/name-filter.tsx';
import { NotForRole } from '../../components/not-for-role.tsx';
import { Empty } from '../../components/states.tsx';
import { type Column, DataTable } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useSearch } from '../../url.ts';
import { InvitationsPanel } from './invitations-panel.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import type { Member } from './member.ts';
import { RoleCell, RoleDialog } from './role-cell.tsx';

export function Page() {
  const members = useAll('listMembers', {});
  const filter = useNameFilter(members.rows, ({ name, email }) => `${name} ${email}`);
  const canManage = useCan('admin');
  const [search, setSearch] = useSearch();
  return (
    <PageFrame
      title={t.team.title}
      crumbs={[{ label: t.team.title }]}
      subtitle={t.team.subtitle}
      actions={
        canManage && (
          <Button kind="primary" icon={UserPlus} onClick={() => setSearch({ new: '1' })}>
            {t.team.invite}
          </Button>
        )
      }
    >
      {search.new && !canManage && <NotForRole>{t.common.linkNotForYou.admin}</NotForRole>}
      {filter.field}
      <List
        list={{ ...members, rows: filter.rows }}
        empty={<Empty icon={Users} title={t.team.title} />}
        filteredEmpty={filter.empty}
      >
        {(rows) => <Members rows={rows} />}
      </List>
      {canManage && <InvitationsPanel />}
      {search.new && canManage && <InviteDialog onClose={() => setSearch({ new: undefined }, { replace: true })} />}
    </PageFrame>
  );
}

type Asking = { about: 'role' | 'removal'; member: Member };

/** The dialog belongs to the list, so that it stays when rows become cards. */
function Members({ rows }: { rows: readonly Member[] }) {
  const [asking, setAsking] = useState<Asking | null>(null);
  const close = () => setAsking(null);
  const asked = asking && (rows.find(({ userId }) => userId === asking.member.userId) ?? asking.member);
  const role = (member: Member) => <RoleCell member={member} onAsk={() => setAsking({ about: 'role', member })} />;
  const removal = (member: Member) => (
    <RemoveButton member={member} onAsk={() => setAsking({ about: 'removal', member })} />
  );
  const columns: Column<Member>[] = [
    { id: 'person', header: t.team.columns.person, cell: (member) => <Person member={member} /> },
    { id: 'role', header: t.team.columns.role, cell: role },
    {
      id: 'active',
      header: t.team.columns.active,
      from: 'md',
      cell: ({ lastActiveAt }) =>
        lastActiveAt ? <Time at={lastActiveAt} as="age" /> : <span className="text-ink3">{t.common.never}</span>,
    },
    {
      id: 'joined',
      header: t.team.columns.joined,
      from: 'md',
      cell: ({ joinedAt }) => <Time at={joinedAt} as="age" />,
    },
    { id: 'more', header: '', align: 'right', cell: removal },
  ];
  return (
    <>
      <DataTable
        label={t.team.title}
        columns={columns}
        rows={rows}
        rowKey={({ userId }) => userId}
        phone={(member) => (
          <span className="flex flex-wrap items-center justify-between gap-2">
            <Person member={member} />
            <span className="ml-auto flex items-center gap-2">
              {role(member)}
              {removal(member)}
            </span>
          </span>
        )}
      />
      {asked && asking.about === 'role' && <RoleDialog member={asked} onClose={close} />}
      {asked && asking.about === 'removal' && <RemoveDialog member={asked} onClose={close} />}
    </>
  );
}

function Person({ member }: { member: Member }) {
  const { me } = useWorkplace();
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-2.5">
      <Avatar name={member.name || member.email} />
      <span className="min-w-0">
        <span className="break-words font-medium" dir="auto">
          {member.name || member.email}
        </span>{' '}
        {member.userId === me.id && <span className="text-ink3">({t.team.you})</span>}
        <span className="ml-2 break-words text-ink3 max-sm:ml-0 max-sm:block">{member.email}</span>
      </span>
    </span>
  );
}

function RemoveButton({ member, onAsk }: { member: Member; onAsk: () => void }) {
  const { me, organization } = useWorkplace();
  const isSelf = member.userId === me.id;
  const canRemove =
    member.role !== 'owner' &&
    (isSelf || (roleAtLeast(organization.role, 'admin') && roleAtLeast(organization.role, member.role)));
  if (!canRemove) return null;
  return (
    <Button
      kind="quiet"
      onClick={onAsk}
      {...(isSelf ? {} : { 'aria-label': t.common.about(t.team.remove, member.name || member.email) })}
    >
      {isSelf ? t.team.leave : t.team.remove}
    </Button>
  );
}

function RemoveDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const isSelf = member.userId === useWorkplace().me.id;
  const go = useGo();
  const remove = useAct('removeMember', { onDone: () => (isSelf ? go('/') : onClose()) });
  return (
    <Confirm
      title={isSelf ? t.team.leaveTitle : t.team.removeTitle(member.name || member.email)}
      action={isSelf ? t.team.leave : t.team.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate({ params: { userId: member.userId } })}
    >
      <p>{isSelf ? t.team.leaveText : t.team.removeText}</p>
    </Confirm>
  );
}
