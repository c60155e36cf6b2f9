import { cp, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/**
 * Copies what packing the contract needs into a separate folder: packing changes the manifest for a moment, and other
 * tests use this one.
 */
export async function copyContract(house: string): Promise<void> {
  const isSource = (path: string) => !/node_modules|[\\/]dist([\\/]|$)/.test(path.slice(root.length));
  const contract = 'packages/contract';
  await mkdir(join(house, 'packages'), { recursive: true });
  await cp(join(root, contract), join(house, contract), { recursive: true, filter: isSource });
  for (const file of ['package.json', 'tsconfig.json', 'LICENSE']) await cp(join(root, file), join(house, file));
  await symlink(join(root, 'node_modules'), join(house, 'node_modules'));
}
