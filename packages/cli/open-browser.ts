import { spawn } from 'node:child_process';
import { platform } from 'node:os';

const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Works if this machine has a visible browser; the address was printed in any case. `BROWSER` names another one. */
export function openBrowser(address: string): void {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = process.env;
  const opener = openers[platform()] ?? (DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined);
  const [command, ...words] = BROWSER ? [BROWSER] : SSH_CONNECTION ? [] : (opener ?? []);
  if (command === undefined) return;
  const child = spawn(command, [...words, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
