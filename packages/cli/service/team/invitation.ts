import type { Command } from 'commander';
import { printJson, printLine } from '../../output.ts';
import { pageSize, printList } from '../lists.ts';
import { groupCommand, type ListOptions, listCommand, type ServiceOptions, serviceCommand } from '../options.ts';
import { invitationIdOf } from '../references.ts';
import { withService } from '../session.ts';

const invitationArgument = ['<invitation>', 'id, or the e-mail address that was invited'] as const;

export function invitationCommand(): Command {
  const commands = [listInvitations, resendCommand, cancelCommand].map((command) => command());
  return groupCommand('invitation', 'invitations that wait for an answer (`member invite` makes one)', commands);
}

function listInvitations(): Command {
  return listCommand('list the invitations that are open').action(
    async (options: ListOptions) =>
      await withService(options, async ({ client }) => {
        const invitations = client.paginate('listInvitations', { query: { limit: pageSize(options.limit) } });
        await printList('invitations', invitations, options, {
          head: ['ID', 'E-MAIL', 'ROLE', 'INVITED BY', 'EXPIRES'],
          row: ({ id, email, role, invitedBy, expiresAt }) => [id, email, role, invitedBy.email, expiresAt],
        });
      }),
  );
}

function resendCommand(): Command {
  return serviceCommand('resend', 'send the e-mail again; the seven days start again')
    .argument(...invitationArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const inviteId = await invitationIdOf(client, reference);
          const resent = await client.resendInvitation({ params: { inviteId } });
          if (options.json) printJson(resent);
          else printLine(`Sent again to ${resent.email}, valid until ${resent.expiresAt}.`);
        }),
    );
}

function cancelCommand(): Command {
  return serviceCommand('cancel', 'cancel an invitation; its link stops working')
    .argument(...invitationArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const inviteId = await invitationIdOf(client, reference);
          const message = await client.cancelInvitation({ params: { inviteId } });
          if (options.json) printJson({ id: inviteId, cancelled: true });
          else printLine(message);
        }),
    );
}
