import { startFirestoreSandbox } from '../packages/sandbox/index.ts';
import {
  changeDocuments,
  type FillOptions,
  fillDocuments,
  type SteadyWrites,
  writeSteadily,
} from './fill-documents.ts';

/** The sandbox in a process of its own, told over the fork channel what to hold. */
export type SandboxCommand =
  | ({ readonly do: 'fill'; readonly project: string } & FillOptions)
  | { readonly do: 'change'; readonly project: string; readonly collection: string; readonly every: number }
  | ({ readonly do: 'write-steadily'; readonly project: string } & SteadyWrites)
  /** Listeners hear what Google promises and no more. */
  | { readonly do: 'as-production' }
  | { readonly do: 'clear'; readonly project: string }
  | { readonly do: 'counters' };

const sandbox = await startFirestoreSandbox();

async function run(command: SandboxCommand): Promise<unknown> {
  if (command.do === 'fill') {
    const { project, ...options } = command;
    const database = sandbox.control.database({ project, database: '(default)' });
    fillDocuments(database, options);
    return { documentBytes: database.all.leaf(0)![0]!.newest!.length };
  }
  if (command.do === 'change') {
    const database = sandbox.control.database({ project: command.project, database: '(default)' });
    return { changed: changeDocuments(database, command.collection, command.every) };
  }
  if (command.do === 'write-steadily') {
    const { project, ...writes } = command;
    return { written: await writeSteadily(sandbox.control.database({ project, database: '(default)' }), writes) };
  }
  if (command.do === 'as-production') return sandbox.control.setListenMode('as-production');
  if (command.do === 'clear') return sandbox.control.clear({ project: command.project, database: '(default)' });
  return { ...sandbox.control.counters(), cpu: process.cpuUsage() };
}

process.on('message', (command: SandboxCommand) => {
  void run(command).then((answer) => process.send?.({ answer: answer ?? null }));
});
process.once('disconnect', () => process.exit(0));
process.send?.({ address: sandbox.address });
