import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { contentId, focusPage } from '../components/give-back-focus.ts';

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
