import { CommandFailure } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';

/**
 * A call whose answer was lost is answered again without its secret: the change is done, and nobody has seen the
 * secret.
 */
export function requireShown(secret: string | null | undefined, what: string, remedy: string): void {
  if (secret !== null) return;
  throw new CommandFailure('SECRET_LOST', `${what}, but the answer that showed it got lost on the way.`, {
    exit: exitCode.unavailable,
    remedy,
  });
}
