import { type Role, roleAtLeast, roles } from '@holdfast/contract';
import { ChevronDown } from 'lucide-react';
import { useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { useWorkplace } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { t } from '../../texts/index.ts';
import type { Member } from './member.ts';
import { RoleChoice } from './role-choice.tsx';

/** Nobody may change a role above their own; ownership is only transferred. */
export function RoleCell({ member, onAsk }: { member: Member; onAsk: () => void }) {
  const { me, organization } = useWorkplace();
  const canChange =
    roleAtLeast(organization.role, 'admin') &&
    member.userId !== me.id &&
    member.role !== 'owner' &&
    roleAtLeast(organization.role, member.role);
  const word = t.roles[member.role];
  if (!canChange) return <span>{word}</span>;
  return (
    <Button
      icon={ChevronDown}
      trailing
      aria-haspopup="dialog"
      aria-label={t.team.roleOf(member.name || member.email, word)}
      onClick={onAsk}
    >
      {word}
    </Button>
  );
}

interface RoleDialogProps {
  member: Member;
  onClose: () => void;
}

/** Choosing a role needs a button that names it; transferring ownership also needs a typed confirmation. */
export function RoleDialog({ member, onClose }: RoleDialogProps) {
  const mine = useWorkplace().organization.role;
  const [role, setRole] = useState<Role>(member.role);
  const change = useAct('updateMember', { onDone: onClose });
  const name = member.name || member.email;
  const isTransfer = role === 'owner';
  return (
    <Confirm
      title={t.team.roleTitle(name)}
      action={isTransfer ? t.team.transfer : t.team.makeRole(t.roles[role])}
      danger={isTransfer}
      disabled={role === member.role}
      {...(isTransfer ? { typed: member.email } : {})}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onConfirm={() => change.mutate({ params: { userId: member.userId }, body: { role } })}
    >
      <div className="text-ink">
        <RoleChoice
          offered={roles.filter((each) => roleAtLeast(mine, each))}
          value={role}
          onChange={setRole}
          current={member.role}
        />
      </div>
      <p role="status">{consequenceOf(name, member.role, role)}</p>
    </Confirm>
  );
}

function consequenceOf(name: string, before: Role, role: Role): string {
  if (role === before) return t.team.roleSame;
  if (role === 'owner') return t.team.transferText(name);
  return roleAtLeast(role, before) ? t.team.roleMore(name) : t.team.roleLess(name);
}
