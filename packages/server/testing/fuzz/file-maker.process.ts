import { createLocalStore } from '@holdfast/engine';
import { type HostileFile, makeHostileFile } from './hostile-files.ts';

/** A process that makes hostile files, so that this costs the service neither memory nor time. */
process.on('message', ({ seed, folder }: MakeOrder) => {
  void make(seed, folder);
});
process.on('disconnect', () => process.exit());

export interface MakeOrder {
  readonly seed: number;
  readonly folder: string;
}

export type MadeFile = { readonly seed: number } & ({ readonly file: HostileFile } | { readonly fault: string });

async function make(seed: number, root: string): Promise<void> {
  try {
    const store = await createLocalStore({ root });
    const file = await makeHostileFile(store, seed);
    await store.close();
    process.send?.({ seed, file } satisfies MadeFile);
  } catch (error) {
    process.send?.({ seed, fault: String((error as Error).stack) } satisfies MadeFile);
  }
}
