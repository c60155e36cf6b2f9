import { spawn } from 'node:child_process';
import { platform } from 'node:os';

const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** As far as this machine has one that somebody sees; the address was printed anyway. `BROWSER` names another. */
export function openBrowser(address: string): void {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = process.env;
  const opener = openers[platform()] ?? (DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined);
  const [command, ...words] = BROWSER ? [BROWSER] : SSH_CONNECTION ? [] : (opener ?? []);
  if (command === undefined) return;
  const child = spawn(command, [...words, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
