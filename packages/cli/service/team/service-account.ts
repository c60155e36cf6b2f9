import { type Scope, scopeDescriptions, scopes } from '@holdfast/contract';
import type { Client } from '@holdfast/contract/client';
import { type Command, InvalidArgumentError } from 'commander';
import { type ConfirmOptions, confirm, withYes } from '../../confirm.ts';
import { printJson, printLine, printTable } from '../../output.ts';
import { printRecord } from '../lists.ts';
import { groupCommand, type ServiceOptions, serviceCommand } from '../options.ts';
import { withService } from '../session.ts';
import { requireShown } from '../shown-once.ts';

interface CreateOptions extends ServiceOptions {
  readonly scopes?: Scope[];
}

interface RotateOptions extends ServiceOptions {
  readonly graceSeconds?: number;
}

export function serviceAccountCommand(): Command {
  const commands = [showCommand, createCommand, rotateCommand, deleteCommand, scopesCommand].map((command) =>
    command(),
  );
  return groupCommand('service-account', 'the API key that programs use', commands);
}

function showCommand(): Command {
  return serviceCommand('show', 'what the service account may do and when it was used').action(
    async (options: ServiceOptions) =>
      await withService(options, async ({ client }) => {
        const account = await client.getServiceAccount();
        if (options.json) return printJson(account);
        printRecord({
          Id: account.id,
          Name: account.name,
          'In the audit log': account.email,
          Scopes: account.permissions.join(', '),
          'Last used': account.lastUsedAt ?? 'never',
          Created: account.createdAt,
        });
      }),
  );
}

function createCommand(): Command {
  return serviceCommand('create', 'make the service account; its key is shown once')
    .argument('<name>', 'what to call it')
    .option('--scopes <scopes...>', 'what it may do (`service-account scopes` lists them); absent: read', addScope)
    .action(
      async (name: string, options: CreateOptions) =>
        await withService(options, async ({ client }) => {
          const permissions = options.scopes && { permissions: options.scopes };
          showKey(await client.createServiceAccount({ body: { name, ...permissions } }), options);
        }),
    );
}

function rotateCommand(): Command {
  return serviceCommand('rotate', 'make a new key; the old one stays valid for a while')
    .option('--grace-seconds <seconds>', 'how long the old key stays valid (86400)', parseSeconds)
    .action(
      async (options: RotateOptions) =>
        await withService(options, async ({ client }) => {
          const { graceSeconds } = options;
          const body = graceSeconds === undefined ? {} : { graceSeconds };
          const rotated = await client.rotateServiceAccount({ body });
          showKey(rotated, options);
          if (!options.json) process.stderr.write(`The old key works until ${rotated.previousKeyValidUntil}.\n`);
        }),
    );
}

function deleteCommand(): Command {
  return withYes(serviceCommand('delete', 'delete the service account; its keys stop working at once')).action(
    async (options: ServiceOptions & ConfirmOptions) =>
      await withService(options, async ({ client }) => {
        await confirm('Delete the service account? Programs that use its key are refused at once.', options);
        const message = await client.deleteServiceAccount();
        if (options.json) printJson({ deleted: true });
        else printLine(message);
      }),
  );
}

/** Needs no service: the list is part of the contract. */
function scopesCommand(): Command {
  return serviceCommand('scopes', 'list the scopes of service accounts').action(({ json }: ServiceOptions) => {
    if (json) printJson({ scopes: scopes.map((scope) => ({ scope, description: scopeDescriptions[scope] })) });
    else printTable([['SCOPE', 'ALLOWS'], ...scopes.map((scope) => [scope, scopeDescriptions[scope]])]);
  });
}

type WithKey = Pick<Awaited<ReturnType<Client['createServiceAccount']>>, 'id' | 'name' | 'apiKey' | 'permissions'>;

/** Prints only the key to the output, so that it can be piped into a safe. */
function showKey(account: WithKey, { json }: ServiceOptions): void {
  requireShown(account.apiKey, 'There is a new key', 'Make another one: `holdfast service-account rotate`.');
  if (json) {
    printJson(account);
    return;
  }
  process.stderr.write(`${account.name} (${account.id}) may: ${account.permissions.join(', ')}\n`);
  process.stderr.write('Its key is shown this once:\n');
  printLine(account.apiKey ?? '');
}

function addScope(text: string, before: Scope[] | undefined): Scope[] {
  const added = text.split(',').filter((name) => name !== '');
  const wrong = added.find((name) => !scopes.includes(name as Scope));
  if (wrong !== undefined)
    throw new InvalidArgumentError(`There is no scope ${wrong}; there are ${scopes.join(', ')}.`);
  return [...(before ?? []), ...(added as Scope[])];
}

function parseSeconds(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError('It must be a whole number of seconds.');
  return value;
}
