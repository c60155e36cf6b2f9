import { loadEnvironmentFile } from './environment-file.ts';
import { describeCommand, parseCommand } from './platform/command-options.ts';

export interface StartOptions {
  readonly help: boolean;
  readonly printConfig: boolean;
  readonly requireDatabase: boolean;
}

export const environmentFileOption = {
  type: 'string',
  value: 'FILE',
  about: 'settings from a file; what the environment says goes before it',
} as const;

const command = {
  usage: 'npm start --',
  about: `Starts the service. Everything else is a setting in the environment: --print-config shows them all,
docs/holdfast.env.example has those to begin with.`,
  options: {
    'env-file': environmentFileOption,
    'print-config': { type: 'boolean', default: false, about: 'show every setting as it would be used, and end' },
    'require-database': { type: 'boolean', default: false, about: 'refuse to start without DATABASE_URL' },
  },
} as const;

export const usage = describeCommand(command);

/** The arguments of `npm start --`. With an unknown option nothing starts. */
export function readStartOptions(args: readonly string[]): StartOptions {
  const { values } = parseCommand(command, args);
  loadEnvironmentFile(values['env-file']);
  return {
    help: values.help,
    printConfig: values['print-config'],
    requireDatabase: values['require-database'],
  };
}
