import { parentPort } from 'node:worker_threads';
import { leavePrecedence } from '@holdfast/engine/precedence';
import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import type { ScratchAnswer, ScratchOrder } from './scratch-thread.ts';

/** The thread of `scratchThread`: each scratch database is a server of its own. */
leavePrecedence();
const sandboxes = new Map<number, FirestoreSandbox>();

async function carryOut(order: ScratchOrder): Promise<string> {
  if (order.type === 'open') {
    const sandbox = await startFirestoreSandbox();
    sandboxes.set(order.scratch, sandbox);
    return sandbox.address;
  }
  const sandbox = sandboxes.get(order.scratch);
  if (order.type === 'clear') sandbox?.control.clear(order.database);
  else {
    sandboxes.delete(order.scratch);
    await sandbox?.stop();
  }
  return '';
}

parentPort?.on('message', async (order: ScratchOrder) => {
  const tell = (answer: ScratchAnswer) => parentPort?.postMessage(answer);
  try {
    tell({ number: order.number, address: await carryOut(order) });
  } catch (error) {
    tell({ number: order.number, failure: error instanceof Error ? error.message : String(error) });
  }
});
