import { CommandFailure } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';

/** A call whose answer got lost on the way is answered again without its secret: what was done stands, and nobody has seen it. */
export function requireShown(secret: string | null | undefined, what: string, remedy: string): void {
  if (secret !== null) return;
  throw new CommandFailure('SECRET_LOST', `${what}, but the answer that showed it got lost on the way.`, {
    exit: exitCode.unavailable,
    remedy,
  });
}
