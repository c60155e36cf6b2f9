import { Argument, Command } from 'commander';
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { completionTable } from './table.ts';
import { zshCompletion } from './zsh.ts';

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** `source <(holdfast completion bash)`: the completions come from the commands themselves. */
export function completionCommand(program: Command): Command {
  return new Command('completion')
    .description('print what makes your shell complete these commands')
    .addArgument(new Argument('<shell>', 'for which shell').choices(Object.keys(shells)))
    .action((shell: keyof typeof shells) => {
      process.stdout.write(shells[shell](completionTable(program)));
    });
}
