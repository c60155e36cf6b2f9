import { type Role, roleAtLeast } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { useWorkplace } from '../../api/organization.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { FormProblem } from '../../components/states.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { Warning } from '../sign-in/warning.tsx';
import { RoleChoice } from './role-choice.tsx';

type Invited = Exclude<Role, 'owner'>;
const offered: readonly Invited[] = ['viewer', 'member', 'admin'];

export function InviteDialog({ onClose }: { onClose: () => void }) {
  const { organization } = useWorkplace();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Invited>('member');
  const { question, keep } = useLeaveQuestion({ email, role });
  const invite = useAct('createInvitation', {
    onDone: (_answer, { body }) => {
      keep(body);
      onClose();
    },
  });
  const methods = useRead('getSignInMethods', {}, { everyMs: false });
  const faults = fieldErrors(invite.error, ['email']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    invite.mutate({ body: { email, role } });
  };
  return (
    <Dialog title={t.team.inviteTitle} onClose={onClose}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label={t.team.email} name="email" error={faults.email}>
          <TextInput type="email" required value={email} onChange={(event) => setEmail(event.target.value)} />
        </Field>
        <RoleChoice
          offered={offered.filter((each) => roleAtLeast(organization.role, each))}
          value={role}
          onChange={setRole}
        />
        {methods.data && !methods.data.provider && (
          <Warning title={t.invitation.nobodyYet} text={t.team.nobodyYetText} />
        )}
        <p className="text-meta text-ink3">{t.team.noMail}</p>
        {invite.error && Object.keys(faults).length === 0 && <FormProblem error={invite.error} />}
        <FormButtons action={t.team.send} busy={invite.isPending} onCancel={onClose} />
      </form>
      {question}
    </Dialog>
  );
}
