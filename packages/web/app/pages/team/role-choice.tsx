import type { Role } from '@holdfast/contract';
import { ChoiceCards } from '../../components/field.tsx';
import { t } from '../../texts/index.ts';

interface RoleChoiceProps<Offered extends Role> {
  offered: readonly Offered[];
  value: Offered;
  onChange: (role: Offered) => void;
  /** The current role. */
  current?: Role;
}

/** The roles with what they may do. */
export function RoleChoice<Offered extends Role>({ offered, value, onChange, current }: RoleChoiceProps<Offered>) {
  return (
    <ChoiceCards
      label={t.team.role}
      name="role"
      columns="grid-cols-1"
      value={value}
      onChange={onChange}
      choices={offered.map((role) => ({
        value: role,
        title: role === current ? t.team.roleNow(t.roles[role]) : t.roles[role],
        detail: t.roleMeanings[role],
      }))}
    />
  );
}
