import { type Entry, optionWords, type Word } from './table.ts';

export function zshCompletion(table: readonly Entry[]): string {
  const cases = table.flatMap((entry) => [
    caseOf(entry.way, [...entry.commands, ...optionWords(entry), ...plain(entry.values)]),
    ...entry.options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ long, short, choices }) =>
        [long, short].flatMap((word) =>
          word === undefined ? [] : [caseOf(`${entry.way} ${word}`.trim(), plain(choices), choices.length === 0)],
        ),
      ),
  ]);
  return `#compdef holdfast
# zsh completion of holdfast: source <(holdfast completion zsh), or save it as _holdfast in a folder of $fpath
_holdfast_entries() {
  files=0
  case "$1" in
${cases.join('\n')}
    *) entries=() ;;
  esac
}

_holdfast() {
  local way='' word
  local -a entries
  local -i index files
  for ((index = 2; index < CURRENT; index++)); do
    word=\${words[index]}
    _holdfast_entries "$way"
    [[ $word != -* && -n \${(M)entries:#$word:*} ]] && way="\${way:+$way }$word"
  done
  entries=()
  [[ \${words[CURRENT - 1]} == -* ]] && _holdfast_entries "\${way:+$way }\${words[CURRENT - 1]}"
  if ((files)); then
    _files
    return
  fi
  ((\${#entries})) || _holdfast_entries "$way"
  _describe 'holdfast' entries
}

if [[ $funcstack[1] == _holdfast ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi
`;
}

function caseOf(way: string, words: readonly Word[], isFile = false): string {
  if (isFile) return `    '${way}') entries=() files=1 ;;`;
  return `    '${way}') entries=(${words.map(({ word, description }) => `'${word}:${description}'`).join(' ')}) ;;`;
}

function plain(words: readonly string[]): Word[] {
  return words.map((word) => ({ word, description: '' }));
}
