import type { Entry, OptionEntry } from './table.ts';

export function fishCompletion(table: readonly Entry[]): string {
  const ways = table.map(({ way }) => `'${way}'`).filter((way) => way !== "''");
  const lines = table.flatMap((entry) => {
    const at = `complete -c holdfast -n "__holdfast_at '${entry.way}'"`;
    return [
      ...entry.commands.map(({ word, description }) => `${at} -a '${word}' -d '${description}'`),
      ...entry.values.map((value) => `${at} -a '${value}'`),
      ...entry.options.map((option) => `${at} ${optionLine(option)}`),
    ];
  });
  return `# fish completion of holdfast: holdfast completion fish | source
set -g __holdfast_ways ${ways.join(' ')}

function __holdfast_at
    set -l way
    for word in (commandline -opc)[2..]
        set -l further (string join -- ' ' $way $word)
        contains -- "$further" $__holdfast_ways; and set way $further
    end
    test "$way" = "$argv[1]"
end

complete -c holdfast -f
${lines.join('\n')}
`;
}

function optionLine({ long, short, description, takesValue, choices }: OptionEntry): string {
  const parts = [];
  if (long !== undefined) parts.push(`-l '${long.slice(2)}'`);
  if (short !== undefined) parts.push(`-s '${short.slice(1)}'`);
  if (choices.length > 0) parts.push(`-x -a '${choices.join(' ')}'`);
  else if (takesValue) parts.push('-r -F');
  return [...parts, `-d '${description}'`].join(' ');
}
