import { Readable } from 'node:stream';
import { exportLines, type Scope, type View, viewOfChain } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { BackupsContext } from '../context.ts';
import { narrowScope } from '../scope.ts';
import { interactive, openChainOf } from './open-chain.ts';

/** What a backup holds, or a part of it. */
export async function exportBackup(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  collection: string | undefined,
  signal: AbortSignal,
): Promise<Readable> {
  const { readers, close } = await openChainOf(context, organizationId, backupId, signal, interactive);
  const { scope } = readers.at(-1)!.body;
  const what = { name: 'The backup', view: viewOfChain(readers), scope, close };
  return exportView(context, organizationId, what, collection, signal);
}

export interface Exported {
  /** The name at the beginning of error messages. */
  readonly name: string;
  readonly view: View;
  readonly scope: Scope;
  close(): Promise<void>;
}

/**
 * A view as lines, read as fast as the caller takes them. The first piece is read before the response begins, so that
 * an early error is a proper error response. Later damage breaks the connection, so that nobody takes a part for the
 * whole.
 */
export async function exportView(
  context: BackupsContext,
  organizationId: string,
  { name, view, scope: covered, close }: Exported,
  collection: string | undefined,
  signal: AbortSignal,
): Promise<Readable> {
  const { log, cpuTurns } = context.platform;
  try {
    const scope = narrowScope(covered, collection);
    const lines = scope ? exportLines(view, collection === undefined ? {} : { scope }, { signal }) : nothing();
    const first = await lines.next();
    if (first.done && collection !== undefined)
      throw new Problem('COLLECTION_NOT_FOUND', `${name} holds nothing in ${collection}.`);
    const turn = () => cpuTurns.take(organizationId);
    const stream = Readable.from(continued(first, lines, turn), { objectMode: false });
    stream.once('close', () => {
      // A generator that was never started runs no finally block of its own.
      void lines.return(undefined);
      close().catch((error: unknown) => log.debug({ err: error }, 'a store did not close'));
    });
    stream.on('error', (error) => log.warn({ err: error }, 'an export broke off'));
    signal.addEventListener('abort', () => stream.destroy(), { once: true });
    return stream;
  } catch (error) {
    await close();
    throw error;
  }
}

async function* nothing(): AsyncGenerator<string> {}

/** A fast reader must not keep the thread to itself. */
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
