import { parentPort } from 'node:worker_threads';
import { lowerThreadPriority } from '@holdfast/engine/lower-thread-priority';
import type { FirestoreSandbox } from '@holdfast/sandbox';
import { ComparedValues } from './compare-values.ts';
import type { DrillAnswer, DrillOrder } from './drill-thread.ts';

/** The thread of `drillThread`: each scratch database is a server of its own, each comparison a pair of digests. */
lowerThreadPriority();
const sandboxes = new Map<number, FirestoreSandbox>();
const comparisons = new Map<number, ComparedValues>();

async function execute(order: DrillOrder): Promise<unknown> {
  const { type, drill } = order;
  if (type === 'compare') return comparisonOf(drill).compare(order.piece);
  if (type === 'digests') return comparisonOf(drill).digests();
  if (type === 'beginComparison') comparisons.set(drill, new ComparedValues());
  else if (type === 'endComparison') comparisons.delete(drill);
  else if (type === 'open') {
    // Loaded only here: a drill into a customer's database does not need it.
    const { startFirestoreSandbox } = await import('@holdfast/sandbox');
    const sandbox = await startFirestoreSandbox();
    sandboxes.set(drill, sandbox);
    return sandbox.address;
  } else if (type === 'clear') sandboxes.get(drill)?.control.clear(order.database);
  else {
    const sandbox = sandboxes.get(drill);
    sandboxes.delete(drill);
    await sandbox?.stop();
  }
  return undefined;
}

/** A comparison dies with its thread. The rest must not be compared as if it were all. */
function comparisonOf(drill: number): ComparedValues {
  const comparison = comparisons.get(drill);
  if (comparison === undefined) throw new Error('the thread that compared documents ended');
  return comparison;
}

parentPort?.on('message', async (order: DrillOrder) => {
  const tell = (answer: DrillAnswer) => parentPort?.postMessage(answer);
  try {
    tell({ number: order.number, result: await execute(order) });
  } catch (error) {
    tell({ number: order.number, failure: error instanceof Error ? error.message : String(error) });
  }
});
