import { setTimeout as sleep } from 'node:timers/promises';
import { Superseded } from '../../jobs/index.ts';
import type { RestoresContext } from '../context.ts';
import type { RestoreTracker } from '../run/restore-tracker.ts';
import { rangeStore } from './range-store.ts';

const pollMs = 100;

/**
 * Before a restore with ranges ends, stops the writers of its ranges and waits until they have finished their requests
 * or have died. True when the journal holds everything that was written.
 */
export async function stopRanges(context: RestoresContext, tracker: RestoreTracker): Promise<boolean> {
  if (!tracker.isRanged) return true;
  try {
    return await untilQuiet(context, tracker);
  } catch (error) {
    // The new holder will end it.
    if (error instanceof Superseded) return false;
    throw error;
  }
}

async function untilQuiet({ platform }: RestoresContext, tracker: RestoreTracker): Promise<boolean> {
  await tracker.save({ rangesStoppedAt: platform.clock.now() });
  for (;;) {
    const { held, unheard } = await platform.database.tenant(tracker.row.organizationId, (transaction) =>
      rangeStore.state(transaction, tracker.row),
    );
    if (held > 0) {
      await sleep(pollMs);
      continue;
    }
    await tracker.flush();
    return unheard === 0;
  }
}
