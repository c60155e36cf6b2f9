import { HoldfastError } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { CommandFailure } from '../command-failure.ts';
import { printJson, printLine } from '../output.ts';
import { readSignIn, removeSignIn, type StoredSignIn } from './config-file.ts';
import { type ServiceOptions, serviceCommand } from './options.ts';
import { connect, isApiKey } from './session.ts';

export function logoutCommand(): Command {
  return serviceCommand('logout', 'end the sign-in at the service and forget it here').action(
    async ({ json }: ServiceOptions) => {
      const signIn = await readSignIn();
      const wasRevoked = signIn !== undefined && !isApiKey(signIn.token) && (await revoke(signIn));
      await removeSignIn();
      if (json) printJson({ signedOut: signIn !== undefined, revoked: wasRevoked });
      else printLine(signIn === undefined ? 'Nobody was signed in.' : `Signed out from ${signIn.url}.`);
    },
  );
}

/** If the service is unreachable or the sign-in has ended, the local secret is removed all the same. */
async function revoke(signIn: StoredSignIn): Promise<boolean> {
  try {
    await connect(signIn).logout();
    return true;
  } catch (error) {
    if (error instanceof HoldfastError || error instanceof CommandFailure) return false;
    throw error;
  }
}
