export const contentId = 'content';

/** The title of the page, or the place where it will stand. */
export function focusPage(): void {
  const content = document.getElementById(contentId);
  (content?.querySelector('h1') ?? content)?.focus({ preventScroll: true });
}

const nameOf = (element: Element) => element.getAttribute('aria-label') ?? element.textContent ?? '';

/** What can be pressed and has this name, without what a dialog covers it with. */
const namesakesOf = (name: string) =>
  [...document.querySelectorAll<HTMLElement>('button, a[href]')].filter(
    (element) => nameOf(element) === name && element.checkVisibility() && !element.closest('dialog'),
  );

/** A menu closes when one of its entries is chosen: what opened it stays. */
function openerOf(element: Element | null): Element | null {
  const trigger = element?.closest('[role=menu]')?.getAttribute('aria-labelledby');
  return trigger ? document.getElementById(trigger) : element;
}

/**
 * Remembers what has the focus; what is called in the end gives it back. A row that became a card meanwhile is another
 * element: then whatever has the same name and the same place among its namesakes has it, else the page's title.
 */
export function rememberFocus(): () => void {
  const before = openerOf(document.activeElement);
  const name = before ? nameOf(before) : '';
  const place = namesakesOf(name).indexOf(before as HTMLElement);
  return () => {
    if (before instanceof HTMLElement && before.isConnected && before.checkVisibility()) return before.focus();
    const namesakes = place < 0 ? [] : namesakesOf(name);
    const heir = namesakes[place] ?? namesakes[0];
    if (heir) heir.focus();
    else focusPage();
  };
}
