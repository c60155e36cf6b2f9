import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { SandboxCommand } from './sandbox-server.ts';

/** A sandbox in its own process, so that what is measured does not share a thread with what it is measured against. */
export class SandboxProcess {
  readonly address: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, address: string) {
    this.#child = child;
    this.address = address;
  }

  static async start(): Promise<SandboxProcess> {
    const child = fork(new URL('./sandbox-server.ts', import.meta.url), { execArgv: ['--max-old-space-size=8192'] });
    const [{ address }] = (await once(child, 'message')) as [{ address: string }];
    return new SandboxProcess(child, address);
  }

  async tell(command: SandboxCommand): Promise<unknown> {
    this.#child.send(command);
    const [{ answer }] = (await once(this.#child, 'message')) as [{ answer: unknown }];
    return answer;
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
