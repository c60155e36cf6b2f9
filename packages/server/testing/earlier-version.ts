import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Whether this checkout has the commit; a copy without history does not. */
export function knowsCommit(commit: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).status === 0;
}

export interface EarlierVersion {
  /** Its `main.ts`. */
  readonly main: string;
  remove(): Promise<void>;
}

/** The sources of an earlier commit, with the present dependencies. */
export async function checkOutEarlier(commit: string): Promise<EarlierVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-earlier-'));
  const needed = ['package.json', 'packages'];
  const archive = execFileSync('git', ['archive', commit, ...needed], { cwd: root, maxBuffer: 256 * 1024 * 1024 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  await mkdir(join(folder, 'node_modules/@holdfast'), { recursive: true });
  for (const name of await readdir(join(root, 'node_modules')))
    if (name !== '@holdfast' && !name.startsWith('.'))
      await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  // Its own packages, not the present ones.
  for (const name of await readdir(join(folder, 'packages')))
    await symlink(join(folder, 'packages', name), join(folder, 'node_modules/@holdfast', name));
  return {
    main: join(folder, 'packages/server/main.ts'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
