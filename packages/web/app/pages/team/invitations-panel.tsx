import { useAct, useAll } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Box } from '../../components/list.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem, Problem } from '../../components/states.tsx';
import { formatDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';

export function InvitationsPanel() {
  const invitations = useAll('listInvitations', {});
  const resend = useAct('resendInvitation');
  const cancel = useAct('cancelInvitation');
  const zone = useZone();
  if (invitations.error && !invitations.rows)
    return (
      <Box>
        <Problem error={invitations.error} onRetry={() => void invitations.refetch()} />
      </Box>
    );
  if (!invitations.rows || invitations.rows.length === 0) return null;
  return (
    <Panel title={t.team.invitations} flush>
      <FormProblem error={resend.error ?? cancel.error} />
      <ul>
        {invitations.rows.map((invitation) => (
          <li
            key={invitation.id}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b px-4 py-2 text-table last:border-b-0"
          >
            <span className="min-w-0 break-words font-medium">{invitation.email}</span>
            <span>{t.roles[invitation.role]}</span>
            <span className="min-w-0 break-words text-ink3">
              {t.team.invitedBy(invitation.invitedBy.email)}, {t.team.expires(formatDay(invitation.expiresAt, zone))}
            </span>
            <span className="ml-auto flex gap-2">
              <Button
                kind="quiet"
                aria-label={t.common.about(t.team.resend, invitation.email)}
                busy={resend.isPending && resend.variables?.params.inviteId === invitation.id}
                onClick={() => resend.mutate({ params: { inviteId: invitation.id } })}
              >
                {t.team.resend}
              </Button>
              <Button
                kind="quiet"
                aria-label={t.common.about(t.team.cancelInvitation, invitation.email)}
                busy={cancel.isPending && cancel.variables?.params.inviteId === invitation.id}
                onClick={() => cancel.mutate({ params: { inviteId: invitation.id } })}
              >
                {t.team.cancelInvitation}
              </Button>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
