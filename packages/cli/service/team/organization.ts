import type { Command } from 'commander';
import { printJson, printLine } from '../../output.ts';
import { readSignIn, writeSignIn } from '../config-file.ts';
import { groupCommand, type ServiceOptions, serviceCommand } from '../options.ts';
import { connect, signInOf, withInterrupt } from '../session.ts';

export function organizationCommand(): Command {
  const commands = [createCommand, renameCommand].map((command) => command());
  return groupCommand('organization', 'the organization everything belongs to (`whoami` lists yours)', commands);
}

function createCommand(): Command {
  return serviceCommand('create', 'create an organization; later commands work in it')
    .argument('<name>', 'its name')
    .action(
      async (name: string, options: ServiceOptions) =>
        await withInterrupt(async (signal) => {
          const signIn = await signInOf(options);
          const created = await connect(signIn, signal).createOrganization({ body: { name } });
          const stored = await readSignIn();
          const isRemembered = stored?.url === signIn.url;
          if (isRemembered) await writeSignIn({ ...stored, organizationId: created.id });
          if (options.json) return printJson(created);
          printLine(`${created.id}  ${created.name}`);
          if (!isRemembered) process.stderr.write(`Work in it with --organization ${created.id}.\n`);
        }),
    );
}

function renameCommand(): Command {
  return serviceCommand('rename', 'rename the organization')
    .argument('<name>', 'the new name')
    .action(
      async (name: string, options: ServiceOptions) =>
        await withInterrupt(async (signal) => {
          const renamed = await connect(await signInOf(options), signal).updateOrganization({ body: { name } });
          if (options.json) printJson(renamed);
          else printLine(`${renamed.id}  ${renamed.name}`);
        }),
    );
}
