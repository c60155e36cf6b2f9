import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { closestName } from './closest-name.ts';
import { settingNames } from './config.ts';
import { StartFailure } from './platform/start-failure.ts';

const option = '--env-file';
/** Node.js reads this variable when the process begins, before any settings file. */
const certificates = 'NODE_EXTRA_CA_CERTS';

/**
 * Loads the settings of the file in `--env-file`, if given. Variables that the environment already has take precedence.
 */
export function loadEnvironmentFile(path: string | undefined): void {
  if (path === undefined) return;
  const text = readText(path);
  requireUncut(text, path);
  const settings = parseEnv(text);
  for (const name of Object.keys(settings)) {
    const meant = settingNames.includes(name) ? undefined : closestName(name, settingNames);
    if (meant) throw new StartFailure(`${path} sets ${name}, which is no setting. Did you mean ${meant}?`);
  }
  if (settings[certificates] !== undefined && process.env[certificates] === undefined)
    throw new StartFailure(
      `${certificates} has no effect in ${path}: set it in the environment of the process, and take it out of the file.`,
    );
  for (const [name, value] of Object.entries(settings)) process.env[name] ??= value;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartFailure(`The file ${path} of ${option} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/** Text after a `#` is a comment, even inside a password, so a cut value would go unnoticed. */
function requireUncut(text: string, path: string): void {
  for (const line of text.split(/\r?\n/)) {
    const [, name] = /^\s*(?:export\s+)?(\w+)\s*=\s*[^\s"'`#][^#]*(?<=\S)#/.exec(line) ?? [];
    if (name)
      throw new StartFailure(
        `The value of ${name} in ${path} would end before its "#": put it in quotes, or a space before a comment.`,
      );
  }
}
