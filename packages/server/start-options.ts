import { parseArgs } from 'node:util';
import { loadEnvironmentFile } from './environment-file.ts';
import { StartFailure } from './platform/start-failure.ts';

export interface StartOptions {
  readonly help: boolean;
  readonly printConfig: boolean;
  readonly requireDatabase: boolean;
}

export const usage = `npm start -- [options]

  --env-file FILE      settings from a file; what the environment says goes before it
  --print-config       show every setting as it would be used, and end
  --require-database   refuse to start without DATABASE_URL
  --help               show this, and end

Everything else is a setting in the environment: --print-config shows them all,
docs/holdfast.env.example has those to begin with.
`;

/** What stands behind `npm start --`. An option that is not known is a mistake, and nothing starts. */
export function readStartOptions(args: readonly string[]): StartOptions {
  const { values } = parse(args);
  loadEnvironmentFile(args);
  return {
    help: values.help,
    printConfig: values['print-config'],
    requireDatabase: values['require-database'],
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        'env-file': { type: 'string' },
        'print-config': { type: 'boolean', default: false },
        'require-database': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/(?<=\.) /);
    throw new StartFailure(`${sentence.replace(/\.?$/, '.')} The option --help lists what there is.`);
  }
}
