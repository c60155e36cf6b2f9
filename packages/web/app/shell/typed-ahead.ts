let typed = '';
let stop = () => {};

/** Collects what is typed before the palette is mounted; otherwise the letters would act as keys on the page. */
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

/** Stops collecting and returns the typed text. */
export function takeTyped(): string {
  stop();
  return typed;
}
