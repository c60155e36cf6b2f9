import { Search } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { Key } from '../components/key.tsx';
import { t } from '../texts/index.ts';
import { useGo } from '../url.ts';
import { useEntries } from './palette-entries.tsx';
import type { Entry } from './palette-entry.ts';
import { takeTyped } from './typed-ahead.ts';

const typingMs = 120;
const commandKey = navigator.platform.includes('Mac') ? '⌘' : 'Ctrl';

/** The command palette: pages, projects, and documents by their path. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<string>();
  const { entries, note } = useEntries(text, useSettled(text));
  const go = useGo();
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [before] = useState(() => document.activeElement);
  useLayoutEffect(() => {
    dialog.current?.showModal();
    setText(takeTyped());
  }, []);
  // After the dialog has closed: while it is open nothing behind it can take the focus.
  useEffect(
    () => () => {
      if (before instanceof HTMLElement) before.focus();
    },
    [before],
  );
  // Keeps the chosen entry chosen while more results arrive.
  const place = entries.findIndex(({ id: each }) => each === chosen);
  const current = Math.max(0, place);
  const leave = (to: string | undefined) => {
    if (!to) return;
    onClose();
    go(to);
  };
  const open = (entry: Entry | undefined) => (entry?.act ? entry.act() : leave(entry?.to));
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    // Entries without a restore ignore the key.
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) leave(entries[current]?.restore);
    else if (event.key === 'Enter') open(entries[current]);
    if (step === undefined) return;
    event.preventDefault();
    setChosen(entries[(current + step + entries.length) % Math.max(1, entries.length)]?.id);
  };
  return (
    <dialog
      ref={dialog}
      aria-label={t.shell.palette.label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
      onKeyDown={onKeyDown}
      className="mx-auto mt-[10vh] w-[94vw] max-w-[600px] flex-col overflow-hidden rounded-panel border border-line bg-surface p-0 text-ink shadow-overlay open:flex"
    >
      <div className="flex items-center gap-3 border-line border-b px-4">
        <Search size={18} aria-hidden className="shrink-0 text-ink2" />
        <input
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={entries[current] ? `${id}-${current}` : undefined}
          aria-label={t.shell.palette.label}
          placeholder={t.shell.palette.placeholder}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(undefined);
          }}
          spellCheck={false}
          autoComplete="off"
          className={`h-13 min-w-0 flex-1 bg-transparent text-section outline-none ${text.includes('/') ? 'font-mono' : ''}`}
        />
        <Key>Esc</Key>
      </div>
      <EntryList id={id} entries={entries} current={current} onOpen={open} onHover={setChosen} />
      <p role="status" className="border-line border-t px-5 py-2 text-meta text-ink3 empty:hidden">
        {note}
      </p>
      <footer className="flex items-center gap-4 border-line border-t bg-bg px-4 py-2 text-meta text-ink2">
        <span className="flex items-center gap-1">
          <Key>↑</Key>
          <Key>↓</Key> {t.shell.palette.choose}
        </span>
        <span className="flex items-center gap-1">
          <Key>↵</Key> {t.shell.palette.open}
        </span>
        {entries[current]?.restore && (
          <span className="flex items-center gap-1">
            <Key>{commandKey}</Key>
            <Key>↵</Key> {t.shell.palette.restore}
          </span>
        )}
        <span className="ml-auto max-sm:hidden">{t.shell.palette.hint}</span>
      </footer>
    </dialog>
  );
}

interface EntryListProps {
  id: string;
  entries: readonly Entry[];
  current: number;
  onOpen: (entry: Entry) => void;
  onHover: (id: string) => void;
}

function EntryList({ id, entries, current, onOpen, onHover }: EntryListProps) {
  return (
    <div id={id} role="listbox" aria-label={t.shell.palette.label} className="max-h-[52vh] overflow-y-auto p-2">
      {entries.length === 0 && <p className="px-3 py-6 text-center text-table text-ink2">{t.shell.palette.nothing}</p>}
      {entries.map((entry, index) => (
        <div key={entry.id} role="presentation">
          {entry.group !== entries[index - 1]?.group && (
            <p role="presentation" className="px-3 pt-2 pb-1 text-meta text-ink3">
              {entry.group}
            </p>
          )}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the arrow keys and Enter of the field above choose and open */}
          <div
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            tabIndex={-1}
            ref={(element) => {
              if (index === current) element?.scrollIntoView({ block: 'nearest' });
            }}
            onClick={() => onOpen(entry)}
            onMouseMove={() => onHover(entry.id)}
            className="flex h-9 cursor-pointer items-center gap-3 rounded-control border-transparent border-l-2 px-3 text-table aria-selected:border-held aria-selected:bg-held-weak max-sm:h-11"
          >
            <entry.icon size={16} aria-hidden className="shrink-0 text-ink2" />
            <span className="min-w-0 flex-1 truncate">{entry.label}</span>
            {entry.aside && index === current && (
              <span className="flex items-center gap-1.5 text-meta text-ink2">
                {entry.aside} <Key>↵</Key>
              </span>
            )}
            {entry.keys?.map((key) => (
              <Key key={key}>{key}</Key>
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

/** The typed text, debounced. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
