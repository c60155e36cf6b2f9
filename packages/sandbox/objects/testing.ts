import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A sandbox in a separate process; `stop` returns its exit code. */
export async function startProcess(main: URL, ...options: string[]) {
  const child = spawn(process.execPath, [main.pathname, '--port', '0', '--bucket', 'mine', ...options]);
  const [output] = (await once(child.stdout, 'data')) as [Buffer];
  const stop = async (): Promise<number> => {
    child.kill('SIGTERM');
    return (await once(child, 'exit'))[0];
  };
  return { endpoint: /http:\S+/.exec(String(output))![0], stop };
}
