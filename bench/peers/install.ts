import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Looks for packages where the peers are installed. */
export const requirePeer = createRequire(new URL('package.json', import.meta.url));

const names = ['firestore-export-import', 'node-firestore-import-export'];

function areInstalled(): boolean {
  try {
    for (const name of names) requirePeer.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** Whether the peers are there; they are installed first where they are not. Large and old, they are no part of an installation. */
export function installPeers(): boolean {
  if (areInstalled()) return true;
  console.error('Installing the peers of the benchmark …');
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const options = ['--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  spawnSync('npm', ['install', ...options], { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
  return areInstalled();
}
