import { roles } from '@holdfast/contract';
import { Argument, type Command, Option } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { printJson, printLine } from '../../output.ts';
import { pageSize, printList } from '../lists.ts';
import { groupCommand, type ListOptions, listCommand, type ServiceOptions, serviceCommand } from '../options.ts';
import { memberIdOf } from '../references.ts';
import { withService } from '../session.ts';

type Role = (typeof roles)[number];
const invitedRoles = ['admin', 'member', 'viewer'] as const;
const memberArgument = ['<member>', 'e-mail address or id'] as const;

export function memberCommand(): Command {
  const commands = [listMembers, inviteCommand, roleCommand, removeCommand].map((command) => command());
  return groupCommand('member', 'the people of the organization', commands);
}

function listMembers(): Command {
  return listCommand('list the people and their roles').action(
    async (options: ListOptions) =>
      await withService(options, async ({ client }) => {
        const members = client.paginate('listMembers', { query: { limit: pageSize(options.limit) } });
        await printList('members', members, options, {
          head: ['ID', 'E-MAIL', 'NAME', 'ROLE', 'JOINED', 'ACTIVE'],
          row: ({ userId, email, name, role, joinedAt, lastActiveAt }) => [
            userId,
            email,
            name,
            role,
            joinedAt,
            lastActiveAt ?? '',
          ],
        });
      }),
  );
}

function inviteCommand(): Command {
  return serviceCommand('invite', 'invite a person by e-mail; the link is valid for seven days')
    .argument('<email>', 'the address to invite')
    .addOption(new Option('-r, --role <role>', 'as what').choices(invitedRoles).default('member'))
    .action(
      async (email: string, options: ServiceOptions & { role: (typeof invitedRoles)[number] }) =>
        await withService(options, async ({ client }) => {
          const invitation = await client.createInvitation({ body: { email, role: options.role } });
          if (options.json) printJson(invitation);
          else printLine(`${invitation.id}: ${email} is invited as ${invitation.role} until ${invitation.expiresAt}.`);
        }),
    );
}

function roleCommand(): Command {
  return withYes(serviceCommand('role', 'change what a person may do; a new owner makes the old one an admin'))
    .argument(...memberArgument)
    .addArgument(new Argument('<role>').choices(roles))
    .action(
      async (reference: string, role: Role, options: ServiceOptions & ConfirmOptions) =>
        await withService(options, async ({ client }) => {
          const userId = await memberIdOf(client, reference);
          // This is the only role that its giver cannot take back.
          if (role === 'owner')
            await confirm(
              `Make ${reference} the owner? You become an admin, and only the new owner can give it back.`,
              options,
            );
          const updated = await client.updateMember({ params: { userId }, body: { role } });
          if (options.json) printJson(updated);
          else printLine(`${reference} is ${updated.role} now.`);
        }),
    );
}

function removeCommand(): Command {
  return withYes(serviceCommand('remove', 'remove a person from the organization, or leave it yourself'))
    .argument(...memberArgument)
    .action(
      async (reference: string, options: ServiceOptions & ConfirmOptions) =>
        await withService(options, async ({ client }) => {
          const userId = await memberIdOf(client, reference);
          await confirm(`Remove ${reference}? Projects connected with their consent lose it.`, options);
          const message = await client.removeMember({ params: { userId } });
          if (options.json) printJson({ userId, removed: true });
          else printLine(message);
        }),
    );
}
