import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { printJson, printLine } from '../output.ts';
import { type ServiceOptions, serviceCommand } from './options.ts';
import { connect, isApiKey, signInOf, withInterrupt } from './session.ts';

export interface Identity {
  readonly kind: 'person' | 'key';
  readonly email: string | null;
  readonly organizations: readonly { readonly id: string; readonly name: string; readonly role: string | null }[];
}

export function whoamiCommand(): Command {
  return serviceCommand('whoami', 'who is signed in, where, and in which organization').action(
    async (options: ServiceOptions) =>
      await withInterrupt(async (signal) => {
        const signIn = await signInOf(options);
        const identity = await identify(connect(signIn, signal), signIn.token);
        const [first, ...others] = identity.organizations;
        const only = others.length === 0 ? first?.id : undefined;
        showIdentity({ ...identity, url: signIn.url, organizationId: signIn.organizationId ?? only ?? null }, options);
      }),
  );
}

/** A key is not a person, so it is identified by its organization. */
export async function identify(client: Client, token: string): Promise<Identity> {
  if (isApiKey(token)) {
    const { id, name } = await client.getOrganization();
    return { kind: 'key', email: null, organizations: [{ id, name, role: null }] };
  }
  const { email, organizations } = await client.getMe();
  return { kind: 'person', email, organizations };
}

export function showIdentity(
  identity: Identity & { url: string; organizationId: string | null },
  { json }: ServiceOptions,
): void {
  const { kind, email, url, organizationId, organizations } = identity;
  if (json) {
    printJson({ url, kind, email, organizationId, organizations });
    return;
  }
  printLine(`${kind === 'key' ? 'An API key' : email} at ${url}`);
  for (const { id, name, role } of organizations)
    printLine(`${id === organizationId ? '*' : ' '} ${id}  ${name}${role === null ? '' : `  (${role})`}`);
  if (organizationId === null && organizations.length > 1)
    printLine('Choose one with --organization or HOLDFAST_ORGANIZATION, or sign in with --organization.');
}
