import { Readable } from 'node:stream';
import { exportLines, viewOfChain } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { BackupsContext } from '../context.ts';
import { narrowScope } from '../scope.ts';
import { interactive, openChainOf } from './open-chain.ts';

/**
 * The view as lines, read as fast as the caller takes them. The first piece is read before anything is answered, so that
 * what can be seen at once is a proper error; later damage breaks the connection, so that nobody takes a part for the whole.
 */
export async function exportBackup(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  collection: string | undefined,
  signal: AbortSignal,
): Promise<Readable> {
  const chain = await openChainOf(context, organizationId, backupId, signal, interactive);
  try {
    const view = viewOfChain(chain.readers);
    const scope = narrowScope(chain.readers.at(-1)!.body.scope, collection);
    const lines = scope ? exportLines(view, collection === undefined ? {} : { scope }, { signal }) : nothing();
    const first = await lines.next();
    if (first.done && collection !== undefined)
      throw new Problem('COLLECTION_NOT_FOUND', `The backup holds nothing in ${collection}.`);
    const turn = () => context.platform.cpuTurns.take(organizationId);
    const stream = Readable.from(continued(first, lines, turn), { objectMode: false });
    stream.once('close', () => {
      // A generator that was never asked runs no finally of its own.
      void lines.return(undefined);
      chain.close().catch((error: unknown) => context.platform.log.debug({ err: error }, 'a store did not close'));
    });
    stream.on('error', (error) => context.platform.log.warn({ err: error, backupId }, 'an export broke off'));
    signal.addEventListener('abort', () => stream.destroy(), { once: true });
    return stream;
  } catch (error) {
    await chain.close();
    throw error;
  }
}

async function* nothing(): AsyncGenerator<string> {}

/** Whoever reads fast must not keep the thread to themselves. */
async function* continued(
  first: IteratorResult<string>,
  rest: AsyncGenerator<string>,
  turn: () => Promise<void>,
): AsyncGenerator<string> {
  for (let piece = first; !piece.done; piece = await rest.next()) {
    yield piece.value;
    await turn();
  }
}
