export const contentId = 'content';

/** The title of the page, or the main area until there is a title. */
export function focusPage(): void {
  const content = document.getElementById(contentId);
  (content?.querySelector('h1') ?? content)?.focus({ preventScroll: true });
}

const nameOf = (element: Element) => element.getAttribute('aria-label') ?? element.textContent ?? '';

/** Buttons and links with this name, without those inside a dialog. */
const namesakesOf = (name: string) =>
  [...document.querySelectorAll<HTMLElement>('button, a[href]')].filter(
    (element) => nameOf(element) === name && element.checkVisibility() && !element.closest('dialog'),
  );

/** A menu closes when an entry is chosen, so the button that opened it is remembered instead. */
function openerOf(element: Element | null): Element | null {
  const trigger = element?.closest('[role=menu]')?.getAttribute('aria-labelledby');
  return trigger ? document.getElementById(trigger) : element;
}

/**
 * Remembers the focused element; the returned function gives the focus back. If the element is gone (a row became a card), the
 * element with the same name and position takes it, else the title of the page.
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
