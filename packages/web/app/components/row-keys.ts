import type { RefObject } from 'react';
import { useKeys } from '../shell/keys.ts';

/**
 * j and k move through the rows; Enter opens the row, as on every link; x toggles its checkbox; the right arrow goes to its
 * further actions.
 */
export function useRowKeys(frame: RefObject<HTMLElement | null>): void {
  const rowOfFocus = () => document.activeElement?.closest('tr, li');
  const inRow = (wanted: string) => rowOfFocus()?.querySelector<HTMLElement>(wanted);
  const move = (step: number) => {
    const links = [...(frame.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
    const at = links.findIndex((link) => link.closest('tr, li') === rowOfFocus());
    const next = links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step))];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  };
  /** Outside of a row the keys keep their usual meaning. */
  const inRowOnly = (wanted: string, act: (element: HTMLElement) => void) => () => {
    const element = frame.current?.contains(document.activeElement) ? inRow(wanted) : undefined;
    if (!element) return false;
    act(element);
    return true;
  };
  const focus = (element: HTMLElement) => element.focus();
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: inRowOnly('input[type=checkbox]', (tick) => tick.click()),
    ArrowRight: inRowOnly('[data-more]', focus),
    ArrowLeft: inRowOnly('[data-row]', focus),
  });
}
