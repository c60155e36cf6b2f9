import { useEffect, useRef } from 'react';

const lettersKey = 'holdfast.letters';

export function lettersAreKeys(): boolean {
  try {
    return localStorage.getItem(lettersKey) !== 'off';
  } catch {
    return true;
  }
}

export function setLettersAreKeys(on: boolean): void {
  try {
    localStorage.setItem(lettersKey, on ? 'on' : 'off');
  } catch {
    // Storage is blocked: the setting stays as it is.
  }
}

function isTyping(target: EventTarget | null): boolean {
  // A checkbox takes no text.
  if (!(target instanceof HTMLElement) || target.matches('[type=checkbox]')) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

const sequenceMs = 1200;

/** Keyboard shortcuts: `b`, `?`, or a sequence such as `g b`. Ignored while typing, with Control or Alt, and behind a dialog. */
export function useKeys(keys: Readonly<Record<string, (() => unknown) | undefined>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let [first, firstAtMs] = ['', 0];
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
      // Letter keys can be switched off because of speech input; arrow keys are not affected.
      if (event.key.length === 1 && !lettersAreKeys()) return;
      const isSecond = first !== '' && event.timeStamp - firstAtMs < sequenceMs;
      const act = (isSecond ? latest.current[`${first} ${event.key}`] : undefined) ?? latest.current[event.key];
      [first, firstAtMs] = [event.key === 'g' ? 'g' : '', event.timeStamp];
      if (!act) return;
      first = '';
      if (act() !== false) event.preventDefault();
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
}
