import { type Entry, optionWords } from './table.ts';

/** An option whose value the shell completes itself, as a file. */
const anything = ':';

export function bashCompletion(table: readonly Entry[]): string {
  const cases = table.flatMap((entry) => [
    caseOf(entry.way, [...entry.commands, ...optionWords(entry)].map(({ word }) => word).concat(entry.values)),
    ...entry.options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ long, short, choices }) =>
        [long, short].flatMap((word) =>
          word === undefined ? [] : [caseOf(`${entry.way} ${word}`.trim(), choices.length > 0 ? choices : [anything])],
        ),
      ),
  ]);
  return `# bash completion of holdfast: source <(holdfast completion bash)
_holdfast_words() {
  case "$1" in
${cases.join('\n')}
  esac
}

_holdfast() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" way='' word words
  local -i index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    words=" $(_holdfast_words "$way") "
    [[ $word != -* && $words == *" $word "* ]] && way="\${way:+$way }$word"
  done
  words=''
  [[ $previous == -* ]] && words="$(_holdfast_words "\${way:+$way }$previous")"
  [[ $words == '${anything}' ]] && return
  [[ -z $words ]] && words="$(_holdfast_words "$way")"
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _holdfast holdfast
`;
}

function caseOf(way: string, words: readonly string[]): string {
  return `    '${way}') echo '${words.join(' ')}' ;;`;
}
