import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ContenderName, ContenderResult, ContenderTask } from './contenders/contender.ts';

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
