import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What `npm install` ends with: the dashboard is built, and an installation without development parts is trimmed. */
const run = (path: string) =>
  spawnSync(process.execPath, [fileURLToPath(new URL(path, import.meta.url))], { stdio: 'inherit' });

run('../packages/web/build.ts');
if ((process.env.npm_config_omit ?? '').split(/[\s,]+/).includes('dev')) run('./trim-install.ts');
