import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MadeFile, MakeOrder } from './file-maker.process.ts';
import type { HostileFile } from './hostile-files.ts';

/** Makes hostile files in another process. */
export class FileMaker {
  readonly #child: ChildProcess;
  readonly #root: string;
  readonly #waiting = new Map<number, (made: MadeFile) => void>();

  private constructor(child: ChildProcess, root: string) {
    this.#child = child;
    this.#root = root;
    child.on('message', (made: MadeFile) => this.#waiting.get(made.seed)?.(made));
    child.on('exit', (code) => {
      for (const [seed, tell] of this.#waiting) tell({ seed, fault: `the maker of files ended with ${code}` });
    });
  }

  static async start(): Promise<FileMaker> {
    const root = await mkdtemp(join(tmpdir(), 'holdfast-fuzz-'));
    return new FileMaker(fork(new URL('./file-maker.process.ts', import.meta.url), { execArgv: [] }), root);
  }

  /** Lends the file of a seed. */
  async lend<Result>(seed: number, use: (file: HostileFile, folder: string) => Promise<Result>): Promise<Result> {
    const folder = await mkdtemp(join(this.#root, 'case-'));
    try {
      return await use(await this.#make({ seed, folder }), folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #make(order: MakeOrder): Promise<HostileFile> {
    const made = await new Promise<MadeFile>((resolve) => {
      this.#waiting.set(order.seed, resolve);
      this.#child.send(order);
    });
    this.#waiting.delete(order.seed);
    if ('fault' in made) throw new Error(made.fault);
    return made.file;
  }

  async stop(): Promise<void> {
    this.#child.removeAllListeners('exit');
    this.#child.disconnect();
    await rm(this.#root, { recursive: true, force: true });
  }
}
