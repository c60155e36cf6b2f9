import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Lets the threads that compress, seal and hash step back behind the one that answers calls: with as many busy threads
 * as cores, a call would otherwise wait for its turn among them again and again. They lose nothing while a core is free.
 * Only Linux gives threads priorities of their own; elsewhere nothing happens.
 */
export function putHelpersBehind(): void {
  if (process.platform !== 'linux') return;
  for (const thread of readdirSync('/proc/self/task').map(Number)) {
    if (thread === process.pid) continue;
    try {
      setPriority(thread, constants.priority.PRIORITY_LOW);
    } catch {
      // It has ended meanwhile, or the house forbids it: then calls wait their turn.
    }
  }
}
