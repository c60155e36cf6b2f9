import { setPriority } from 'node:os';

const behindOthers = 10;

/**
 * For threads whose work can wait: when the cores are busy, the threads that answer calls go first. Linux has
 * priorities per thread; other systems would lower the whole process, so there nothing is done.
 */
export function lowerThreadPriority(): void {
  if (process.platform === 'linux') setPriority(behindOthers);
}
