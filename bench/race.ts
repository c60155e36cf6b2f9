import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContenderProcess } from './contender-process.ts';
import type { ContenderTask } from './contenders/contender.ts';
import type { ContenderName } from './contenders/registry.ts';
import { median } from './figure.ts';
import { SandboxProcess } from './sandbox-process.ts';

/** A sandbox and contenders, each in its own process, and a folder; all gone afterwards. */
export async function withRace<Result>(
  names: readonly ContenderName[],
  run: (race: Race) => Promise<Result>,
): Promise<Result> {
  const sandbox = await SandboxProcess.start();
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  const runners = new Map(names.map((name) => [name, new ContenderProcess(name, sandbox.address)]));
  try {
    return await run(new Race(sandbox, folder, runners));
  } finally {
    for (const runner of runners.values()) runner.stop();
    sandbox.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

export class Race {
  readonly sandbox: SandboxProcess;
  readonly folder: string;
  readonly #runners: ReadonlyMap<ContenderName, ContenderProcess>;

  constructor(sandbox: SandboxProcess, folder: string, runners: ReadonlyMap<ContenderName, ContenderProcess>) {
    this.sandbox = sandbox;
    this.folder = folder;
    this.#runners = runners;
  }

  async run(name: ContenderName, task: Omit<ContenderTask, 'address' | 'folder'>) {
    return await this.#runners.get(name)!.run({ ...task, address: this.sandbox.address, folder: this.folder });
  }

  /** For memory: a process that has done nothing else before. */
  async inFreshProcess(name: ContenderName, task: Omit<ContenderTask, 'address' | 'folder'>) {
    const runner = new ContenderProcess(name, this.sandbox.address);
    try {
      return await runner.run({ ...task, address: this.sandbox.address, folder: this.folder });
    } finally {
      runner.stop();
    }
  }

  /**
   * Documents per second of each, the median of the rounds. Rounds take turns, so that a busy moment of the machine hits
   * all alike; the first turn of each warms it up and is not counted.
   */
  async rates(turns: readonly Turn[]): Promise<Map<ContenderName, number>> {
    const rates = new Map<ContenderName, number[]>(turns.map(({ name }) => [name, []]));
    const roundsMax = Math.max(...turns.map(({ rounds }) => rounds));
    for (const turn of turns) if (turn.warmUp) await this.#turn(turn, turn.warmUp);
    for (let round = 0; round < roundsMax; round += 1) {
      for (const turn of turns) {
        if (round < turn.rounds) rates.get(turn.name)!.push(await this.#turn(turn, turn.task));
      }
    }
    return new Map([...rates].map(([name, measured]) => [name, median(measured)]));
  }

  async #turn({ name, documents, before }: Turn, task: Turn['task']): Promise<number> {
    await before?.();
    const { documents: handled, seconds } = await this.run(name, task);
    if (documents !== undefined && task.collection === documents.collection && handled !== documents.count) {
      throw new Error(`${name} handled ${handled} documents instead of ${documents.count}.`);
    }
    return handled / seconds;
  }
}

export interface Turn {
  readonly name: ContenderName;
  readonly task: Omit<ContenderTask, 'address' | 'folder'>;
  readonly warmUp?: Omit<ContenderTask, 'address' | 'folder'>;
  readonly rounds: number;
  /** How many there must be, so that nobody wins by leaving some out. */
  readonly documents?: { readonly collection: string; readonly count: number };
  readonly before?: () => Promise<unknown>;
}
