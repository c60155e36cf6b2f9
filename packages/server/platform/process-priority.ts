import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';

/** Between the calls and the heaviest threads of the jobs. */
const behindCalls = 5;

/**
 * For a process that answers no calls: when the cores are busy, the processes that do go first. Linux has priorities per
 * thread, and a thread begins with that of the one that starts it.
 */
export function lowerProcessPriority(): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid];
  for (const thread of threads) {
    try {
      setPriority(thread, behindCalls);
    } catch {
      // The thread has ended since.
    }
  }
}
