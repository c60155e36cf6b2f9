import { setPriority } from 'node:os';

const behindOthers = 10;

/**
 * For threads whose work can wait: where the cores do not suffice, the threads that answer calls go first. Linux counts
 * precedence by thread; elsewhere this would concern the whole process and is left alone.
 */
export function leavePrecedence(): void {
  if (process.platform === 'linux') setPriority(behindOthers);
}
