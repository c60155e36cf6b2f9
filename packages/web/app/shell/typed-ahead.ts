let typed = '';
let stop = () => {};

/** What is typed before the field of the palette is there belongs into it: on the page the letters would be keys, or text of a form. */
export function collectTyped(): void {
  stop();
  typed = '';
  const listen = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.length === 1) typed += event.key;
    else if (event.key === 'Backspace') typed = typed.slice(0, -1);
    else if (event.key !== 'Enter') return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  window.addEventListener('keydown', listen, { capture: true });
  stop = () => window.removeEventListener('keydown', listen, { capture: true });
}

/** Ends with what was typed so far. */
export function takeTyped(): string {
  stop();
  return typed;
}
