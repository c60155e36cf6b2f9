import type { ComponentProps, MouseEvent } from 'react';
import { useGo } from '../url.ts';

/**
 * A link of a long list. The router's own link checks for each of them whether it is active and what to preload, and scrolling
 * draws a hundred of them in one frame.
 */
export function RowLink({ to, ...rest }: ComponentProps<'a'> & { to: string }) {
  const go = useGo();
  const onClick = (event: MouseEvent<HTMLAnchorElement>) => {
    const isOwnWish = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0;
    if (event.defaultPrevented || isOwnWish) return;
    event.preventDefault();
    go(to);
  };
  return <a {...rest} href={to} onClick={onClick} />;
}
