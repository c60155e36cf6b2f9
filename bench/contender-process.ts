import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ContenderResult, ContenderTask } from './contenders/contender.ts';
import type { ContenderName } from './contenders/registry.ts';

/** As the command line starts it: a small nursery, because what the engine makes is short-lived bytes outside of the heap. */
const engineFlags = ['--max-semi-space-size=2'];

/** A contender in a process of its own: its garbage, its threads and its peak memory are its own. */
export class ContenderProcess {
  readonly #child: ChildProcess;

  constructor(name: ContenderName, emulatorHost: string) {
    const env = {
      ...process.env,
      FIRESTORE_EMULATOR_HOST: emulatorHost,
      GCLOUD_PROJECT: 'bench',
      METADATA_SERVER_DETECTION: 'none',
    };
    this.#child = fork(new URL('./contenders/host.ts', import.meta.url), [name], {
      env,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: name === 'holdfast' ? [...engineFlags] : [],
    });
  }

  async run(task: ContenderTask): Promise<ContenderResult> {
    this.#child.send(task);
    const [answer] = (await once(this.#child, 'message')) as [ContenderResult | { failure: string }];
    if ('failure' in answer) throw new Error(answer.failure);
    return answer;
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
