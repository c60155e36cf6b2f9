import { useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { Checkbox } from '../components/field.tsx';
import { Key } from '../components/key.tsx';
import { t } from '../texts/index.ts';
import { usePaths } from '../url.ts';
import { lettersAreKeys, setLettersAreKeys } from './keys.ts';
import { navigationOf } from './navigation.ts';

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const [letters, setLetters] = useState(lettersAreKeys);
  const { keys } = t.shell;
  const go = navigationOf(usePaths()).flatMap((group) => group.entries.filter((entry) => entry.key));
  const rows: [string[], string][] = [
    [['Ctrl', 'K'], keys.palette],
    [['Ctrl', 'Enter'], keys.restoreFound],
    [['/'], keys.filter],
    [['?'], keys.help],
    [['J', 'K'], keys.move],
    [['Enter'], keys.open],
    [['X'], keys.pick],
    [['→'], keys.more],
    [['R'], keys.restore],
    [['C'], keys.compare],
    [['[', ']'], keys.older],
    [['Esc'], keys.close],
  ];
  return (
    <Dialog title={keys.title} onClose={onClose} wide>
      <div className="grid gap-6 sm:grid-cols-2">
        <dl className="flex flex-col gap-1.5">
          {rows.map(([names, what]) => (
            <Row key={what} names={names} what={what} />
          ))}
        </dl>
        <dl className="flex flex-col gap-1.5">
          {go.map((entry) => (
            <Row key={entry.id} names={['G', entry.key?.toUpperCase() ?? '']} what={`${keys.go} ${entry.label}`} />
          ))}
        </dl>
      </div>
      <Checkbox
        label={keys.letters}
        checked={letters}
        onChange={(event) => {
          setLetters(event.target.checked);
          setLettersAreKeys(event.target.checked);
        }}
      />
    </Dialog>
  );
}

function Row({ names, what }: { names: string[]; what: string }) {
  return (
    <div className="flex items-center justify-between gap-4 text-table">
      <dt className="text-ink2">{what}</dt>
      <dd className="flex gap-1">
        {names.map((name) => (
          <Key key={name}>{name}</Key>
        ))}
      </dd>
    </div>
  );
}
