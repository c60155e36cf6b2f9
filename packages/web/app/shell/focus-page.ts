import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

const contentId = 'content';

/** The title of the page, or the place where it will stand. */
function focusPage(): void {
  const content = document.getElementById(contentId);
  (content?.querySelector('h1') ?? content)?.focus({ preventScroll: true });
}

/** Another page has the focus on its title. Where the focus went along, as in a list that stays, it is left alone. */
export function useFocusAfterNavigation(): void {
  const pathname = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current !== undefined && before.current !== pathname) {
      const inPage = document.activeElement?.closest(`#${contentId}, dialog`);
      if (!inPage || inPage === document.activeElement) focusPage();
    }
    before.current = pathname;
  }, [pathname]);
}

/** A page that had to be fetched takes over the focus that waits for it. */
export function useFocusWhenItComes(): void {
  useEffect(() => {
    if (document.activeElement?.id === contentId) focusPage();
  }, []);
}
